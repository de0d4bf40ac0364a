#!/bin/sh
# Builds and runs the benchmark program of a backend, with its report.
#   bench/run.sh BACKEND [filter]     filter: a regular expression over case names, or "quick"; for accuracy, a size
#   bench/run.sh out_of_core [N [MIB [DEVICES]]]
#   bench/run.sh sparse [events | csr [SIDE]]
# The build folder is ${STRATAGEMM_BENCH_BUILD:-build/bench}; results are written below it.
set -eu

backend=${1:?usage: bench/run.sh BACKEND [filter]}
# A label as the tables print it, "square 512, packed", is the name square/512_packed.
filter=$(printf '%s' "${2-}" | sed 's/, / /g; s/ /[\/_]/g')
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRATAGEMM_BENCH_BUILD:-$root/build/bench}
program=bench_$backend

case $backend in
out_of_core | sparse)
    shift
    sh "$root/bench/build.sh" "$program"
    exec "$build/bench/$program" "$@"
    ;;
host | opencl | cuda | emulation | accuracy) ;;
*)
    echo "bench/run.sh: there is no benchmark program for '$backend'; there are host, opencl, cuda, emulation, accuracy, out_of_core, sparse" >&2
    exit 2
    ;;
esac
sh "$root/bench/build.sh" "$program"

set -- --report="$build/report.html"
if [ "$backend" != accuracy ]; then set -- "$@" --json="$build/$backend.json"; fi
case $filter in
'') ;;
quick) set -- "$@" --quick ;;
*) if [ "$backend" = accuracy ]; then set -- "$@" "$filter"; else set -- "$@" --filter="$filter"; fi ;;
esac

# The first product of a process, with an empty cache and with a full one.
case $backend in
opencl | cuda)
    "$build/bench/$program" "$@" --list >/dev/null # a filter that matches no case ends it here
    sh "$root/bench/build.sh" "${backend}_start"
    cache=$(mktemp -d)
    for _ in first second third; do STRATAGEMM_CACHE_DIR="$cache" "$build/bench/${backend}_start" || true; done
    rm -rf "$cache"
    ;;
esac
"$build/bench/$program" "$@"

echo
case $backend in
accuracy) echo "pictures: $build/accuracy-fp64.svg, $build/accuracy-fp32.svg" ;;
*) printf 'JSON: %s\nHTML: %s\n' "$build/$backend.json" "$build/report.html" ;;
esac
