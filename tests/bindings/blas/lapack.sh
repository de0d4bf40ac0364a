#!/bin/sh
# lapack.sh LIBRARY: LAPACK's own testers, which Debian's package liblapack-test has, with the LAPACK of the reference
# over this library. Exits with 77 where they are not. LAPACK_TESTERS names another folder with them, LAPACK_BENEATH
# folders with the libraries that they need, and LAPACK_TYPES the types to try, by default 's d c z'.
set -u
library=$1
folder=${LAPACK_TESTERS:-}
for place in /usr/lib/*/lapack; do
    if [ -z "$folder" ] && [ -x "$place/xlintstd" ]; then folder=$place; fi
done
if [ -z "$folder" ] || [ ! -x "$folder/xlintstd" ]; then
    echo "skipped: no testers of LAPACK here (Debian: liblapack-test)"
    exit 77
fi
LD_LIBRARY_PATH=${LAPACK_BENEATH:-$folder:$folder/../blas}:${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

failed=0 passed=0
# judge PROGRAM INPUT: all that it says of a threshold is that tests passed, and it says so.
judge() {
    if [ ! -e "$folder/$2" ]; then return; fi
    LD_PRELOAD=$library "$folder/$1" <"$folder/$2" >"$place/said" 2>&1
    good=$(grep -cE 'passed the (threshold|tests of the error exits)|Tests passed' "$place/said")
    passed=$((passed + good))
    if grep -qE 'failed to pass|FAIL|symbol lookup error|illegal value' "$place/said" || [ "$good" -eq 0 ]; then
        echo "$1 <$2: $good passed"
        grep -E 'failed to pass|FAIL|symbol lookup error|illegal value' "$place/said" | head -5
        failed=1
    fi
}
for type in ${LAPACK_TYPES:-s d c z}; do
    judge "xlintst$type" "${type}test.in"
    judge "xlintstrf$type" "${type}test_rfp.in"
    for input in nep sep se2 svd glm gqr gsv csd lse; do judge "xeigtst$type" $input.in; done
    for input in ed gg gd sb sg bb; do judge "xeigtst$type" "$type$input.in"; done
done
echo "$passed groups of tests passed"
exit $failed
