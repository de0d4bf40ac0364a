#!/bin/sh
# bench/build.sh TARGET: builds a program in ${STRATAGEMM_BENCH_BUILD:-build/bench}.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRATAGEMM_BENCH_BUILD:-$root/build/bench}
echo "== building $1 in $build; the first time takes minutes" >&2
cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DSTRATAGEMM_BENCHMARKS=ON -DSTRATAGEMM_TESTS=OFF \
    -DSTRATAGEMM_EXAMPLES=OFF
cmake --build "$build" --target "$1" -j "${JOBS:-$(nproc)}"
