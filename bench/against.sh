#!/bin/sh
# Races this checkout against another commit of it: bench/against.sh COMMIT [host|emulation|opencl|cuda] [FILTER], with CXX
# for the compiler.
set -eu

usage="usage: bench/against.sh COMMIT [host|emulation|opencl|cuda] [FILTER]"
commit=${1:?$usage}
shift
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRATAGEMM_BENCH_BUILD:-$root/build/bench}/against
compiler=${CXX:-g++}
cases=
case ${1-} in
host) shift ;;
emulation) cases="-DAGAINST_EMULATION" && shift ;;
opencl) cases="-DAGAINST_OPENCL -lOpenCL" && shift ;;
cuda) cases="-DAGAINST_CUDA -isystem ${CUDA_HOME:-/usr/local/cuda}/include" && shift ;;
esac
rm -rf "$build/other"
mkdir -p "$build/other"
git -C "$root" archive "$commit" include | tar -x -C "$build/other"

library() { # INCLUDE NAME
    # shellcheck disable=SC2086
    "$compiler" -std=c++20 -O2 -DNDEBUG -fopenmp -fPIC -shared -fvisibility=hidden -I "$1" "$root/bench/against_cases.cpp" \
        -o "$build/$2.so" $cases -ldl
}
echo "== compiling the cases twice, for $commit and for this checkout" >&2
library "$build/other/include" other
library "$root/include" this
"$compiler" -std=c++20 -O2 "$root/bench/against.cpp" -o "$build/against" -ldl
echo "== racing" >&2
"$build/against" "$build/other.so" "$build/this.so" "${1-}"
