#!/bin/sh
# Measures what a picture shows, and draws it: a page of HTML and an SVG.
#   bench/pictures.sh roofline host|opencl|cuda
#   bench/pictures.sh --draw KIND DATA PAGE     draws what was measured before: PAGE.html and PAGE.svg
# The build folder is ${STRATAGEMM_BENCH_BUILD:-build/bench}; results are written below it.
set -eu
export LC_ALL=C
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRATAGEMM_BENCH_BUILD:-$root/build/bench}

# draw KIND DATA PAGE
draw() {
    for form in html svg; do
        awk -f "$root/bench/$1.awk" "$2" | awk -v form="$form" -f "$root/bench/plot.awk" >"$3.$form"
    done
}

if [ "$1" = --draw ]; then
    shift
    draw "$@"
    exit
fi
kind=$1 backend=$2 page=$build/$1-$2
sh "$root/bench/build.sh" "bench_$backend"
"$build/bench/bench_$backend" "--$kind" --data="$page.txt" --report="$page-cases.html"
draw "$kind" "$page.txt" "$page"
printf '\nmeasured: %s\nall cases: %s\npictures: %s\npage: %s\n' "$page.txt" "$page-cases.html" "$page.svg" "$page.html"
