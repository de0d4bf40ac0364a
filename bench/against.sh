#!/bin/sh
# Races this checkout against another commit of it: bench/against.sh COMMIT [FILTER], with CXX for the compiler.
set -eu

commit=${1:?usage: bench/against.sh COMMIT [FILTER]}
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRATAGEMM_BENCH_BUILD:-$root/build/bench}/against
compiler=${CXX:-g++}
mkdir -p "$build/other"
git -C "$root" archive "$commit" include | tar -x -C "$build/other"

library() { # INCLUDE NAME
    "$compiler" -std=c++20 -O2 -DNDEBUG -fopenmp -fPIC -shared -fvisibility=hidden -I "$1" "$root/bench/against_cases.cpp" \
        -o "$build/$2.so"
}
library "$build/other/include" other
library "$root/include" this
"$compiler" -std=c++20 -O2 "$root/bench/against.cpp" -o "$build/against" -ldl
"$build/against" "$build/other.so" "$build/this.so" "${2-}"
