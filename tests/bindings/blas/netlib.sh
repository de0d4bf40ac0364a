#!/bin/sh
# netlib.sh LIBRARY: the testers of netlib for level 3, Fortran and CBLAS, that Debian's package libblas-test has,
# over this library. Exits with 77 where they are not. BLAS_TESTERS names another folder with them, and BLAS_BENEATH
# one with the libblas.so.3 of the reference, which the testers of CBLAS need.
set -u
library=$1
folder=${BLAS_TESTERS:-}
for place in /usr/lib/*/blas; do
    if [ -z "$folder" ] && [ -x "$place/xblat3d" ]; then folder=$place; fi
done
if [ -z "$folder" ] || [ ! -x "$folder/xblat3d" ]; then
    echo "skipped: no testers of netlib here (Debian: libblas-test)"
    exit 77
fi
LD_LIBRARY_PATH=${BLAS_BENEATH:-$folder}:${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 1

failed=0
# judge NAME FILE COUNT: the file says so many times that tests passed, and nothing else.
judge() {
    passed=$(grep -c 'PASSED THE' "$2")
    if [ "$passed" -ne "$3" ] || grep -qE 'FAIL|\*\*\*|SUSPECT|symbol lookup error' "$2"; then
        echo "$1: $passed of $3 passed"
        grep -E 'FAIL|\*\*\*|SUSPECT|symbol lookup error' "$2" | head -5
        failed=1
    fi
}
for type in s d c z; do
    case $type in
    s | d) routines=6 ;;
    *) routines=9 ;;
    esac
    LD_PRELOAD=$library "$folder/xblat3$type" <"$folder/${type}blat3.in" >"said" 2>&1
    cat said >>"${type}blat3.out"
    judge "xblat3$type" "${type}blat3.out" $((2 * routines))
    # Of each routine: its errors, and what it computes by columns and by rows.
    LD_PRELOAD=$library "$folder/x${type}cblat3" <"$folder/${type}in3" >"${type}cblas.out" 2>&1
    judge "x${type}cblat3" "${type}cblas.out" $((3 * routines))
done
exit $failed
