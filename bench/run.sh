#!/bin/sh
# Builds and runs the benchmark program of a backend, with its report.
#   bench/run.sh BACKEND [filter]     filter: a regular expression over case names, or "quick"; for accuracy, a size
# The build folder is ${STRATAGEMM_BENCH_BUILD:-build/bench}; results are written below it.
set -eu

backend=${1:?usage: bench/run.sh BACKEND [filter]}
# A label as the tables print it, "square 512, packed", is the name square/512_packed.
filter=$(printf '%s' "${2-}" | sed 's/, / /g; s/ /[\/_]/g')
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRATAGEMM_BENCH_BUILD:-$root/build/bench}
program=bench_$backend

# names [FLAG]: of the cases of the program, without the suffixes of Google Benchmark.
names() {
    "$build/bench/$program" --benchmark_list_tests=true --report=/dev/null "$@" 2>/dev/null |
        grep -E '^[A-Za-z0-9_]+(/[^ ]+)+$' | sed -E 's;/(iterations|repeats|manual_time|real_time).*;;' | sort -u
}

if [ ! -f "$root/bench/$backend.cpp" ]; then
    echo "bench/run.sh: there is no benchmark program for '$backend'; there are host, opencl, cuda, emulation, accuracy" >&2
    exit 2
fi

echo "== configuring and building $program in $build; the first time takes minutes"
cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DSTRATAGEMM_BENCHMARKS=ON -DSTRATAGEMM_TESTS=OFF \
    -DSTRATAGEMM_EXAMPLES=OFF
cmake --build "$build" --target "$program" -j "$(nproc)"

# A filter that matches no case is an error. Where there is no device, the program says so below.
case $backend:$filter in
accuracy:* | *: | *:quick) ;;
*)
    if [ -z "$(names "--benchmark_filter=$filter")" ]; then
        all=$(names)
        if [ -n "$all" ]; then
            printf "bench/run.sh: no case of %s matches '%s'. The cases:\n%s\n" "$backend" "$filter" "$all" >&2
            exit 1
        fi
    fi
    ;;
esac

# The first product of a process, with an empty cache and with a full one.
case $backend in
opencl | cuda)
    cmake --build "$build" --target "${backend}_start"
    cache=$(mktemp -d)
    for _ in first second third; do STRATAGEMM_CACHE_DIR="$cache" "$build/bench/${backend}_start" || true; done
    rm -rf "$cache"
    ;;
esac

set -- --benchmark_out="$build/$backend.json" --report="$build/report.html"
case $filter in
'') ;;
quick) set -- "$@" --quick ;;
*)
    if [ "$backend" = accuracy ]; then set -- "$@" "$filter"; else set -- "$@" --benchmark_filter="$filter"; fi
    ;;
esac
"$build/bench/$program" "$@"

echo
if [ -f "$build/$backend.json" ]; then echo "JSON: $build/$backend.json"; fi
case $backend in
host) echo "HTML: $build/report.html" ;;
accuracy) echo "pictures: $build/accuracy-fp64.svg, $build/accuracy-fp32.svg" ;;
esac
