#!/bin/sh
# Measures what a picture shows, and draws it: a page of HTML and an SVG.
#   bench/pictures.sh roofline|crossovers host|opencl|cuda
#   bench/pictures.sh gfx803 FOLDER             counts the instructions of the kernels in FOLDER, and measures nothing
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
if [ "$1" = gfx803 ]; then
    mkdir -p "$build"
    page=$build/roofline-gfx803
    result=0
    sh "$root/tests/kernels/gfx803.sh" "$2" >"$page.txt" || result=$?
    [ "$result" -ne 77 ] || { cat "$page.txt" && exit 77; }
    draw gfx803 "$page.txt" "$page"
    cat "$page.txt"
    printf '\npredicted: %s\npictures: %s\npage: %s\n' "$page.txt" "$page.svg" "$page.html"
    exit "$result"
fi
kind=$1 backend=$2 page=$build/$1-$2
case $kind in
roofline)
    sh "$root/bench/build.sh" "bench_$backend"
    "$build/bench/bench_$backend" --roofline --data="$page.measured" --report="$page-cases.html"
    printf '\nall cases: %s' "$page-cases.html"
    ;;
crossovers)
    sh "$root/bench/build.sh" "bench_crossovers_$backend"
    "$build/bench/bench_crossovers_$backend" "$page.measured"
    ;;
esac
{
    printf 'about | command | ./dev %s %s\nabout | date | %s\n' "$kind" "$backend" "$(date -u +%Y-%m-%d)"
    cat "$page.measured"
} >"$page.txt"
rm "$page.measured"
draw "$kind" "$page.txt" "$page"
printf '\nmeasured: %s\npictures: %s\npage: %s\n' "$page.txt" "$page.svg" "$page.html"
