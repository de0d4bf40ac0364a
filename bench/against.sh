#!/bin/sh
# Races this checkout against another commit of it: bench/against.sh COMMIT [host|emulation|opencl|cuda] [FILTER], with CXX
# for the compiler. FILTER is a regular expression on the names of cases, as in run.sh.
set -eu

usage="usage: bench/against.sh COMMIT [host|emulation|opencl|cuda] [FILTER]"
commit=${1:?$usage}
shift
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRATAGEMM_BENCH_BUILD:-$root/build/bench}
compiler=${CXX:-g++}
backend=host
case ${1-} in
host | emulation | opencl | cuda) backend=$1 && shift ;;
esac
filter=$(printf '%s' "${1-}" | sed 's/, / /g; s/ /[\/_]/g') # a label as the tables print it, as in run.sh
case $backend in
host) selection= ;;
emulation) selection=-DAGAINST_EMULATION ;;
opencl) selection="-DAGAINST_OPENCL -lOpenCL" ;;
cuda) selection="-DAGAINST_CUDA -isystem ${CUDA_HOME:-/usr/local/cuda}/include" ;;
esac

sh "$root/bench/build.sh" bench_against
if [ "$backend" != emulation ]; then
    sh "$root/bench/cases.sh" --renew "against_$backend" "$build/bench/bench_against" --backend="$backend" --other= --this=
fi
other=$build/against
rm -rf "$other"
mkdir -p "$other"
git -C "$root" archive "$commit" include | tar -x -C "$other"

library() { # INCLUDE NAME
    # shellcheck disable=SC2086
    "$compiler" -std=c++20 -O2 -DNDEBUG -fopenmp -fPIC -shared -fvisibility=hidden -I "$1" \
        "$root/bench/against_contenders.cpp" -o "$other/$2.so" $selection -ldl
}
echo "== compiling $backend twice, for $commit and for this checkout" >&2
library "$other/include" other
library "$root/include" this
echo "== racing" >&2
"$build/bench/bench_against" --backend="$backend" --other="$other/other.so" --this="$other/this.so" \
    --benchmark_out="$build/against.json" --report="$build/against.html" --benchmark_filter="$filter"
