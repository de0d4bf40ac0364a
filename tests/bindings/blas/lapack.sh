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
openblas=
for file in /usr/lib/*/openblas*/libopenblas.so.0; do
    if [ -e "$file" ]; then openblas=$file; fi
done
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

failed=0 passed=0
# over LIBRARY PROGRAM INPUT: the tests that fail and how many of a routine do, a line for each; all that the program says
# is in $place/said. Thresholds are 10 to 50: a ratio of two digits is left out, and a larger one stays.
over() {
    {
        LD_PRELOAD=$1 "$folder/$2" <"$folder/$3" >"$place/said" 2>&1 || echo "it ends with status $?"
        grep -q 'End of tests' "$place/said" || echo "it does not come to its end"
        grep -E 'fail|Fail|FAIL|\*\*\*|Error in|incorrectly|inconsistent|symbol lookup error' "$place/said"
        grep -E 'error messages? recorded|ratio *= |(result|test) *[0-9]* *(is|=)' "$place/said"
    } | sed -E 's/(=|is) *[0-9]?[0-9]\.[0-9]+ *$/\1/' | sort
}
# judge PROGRAM INPUT: all that it says of a threshold is that tests passed, and it says so.
judge() {
    if [ ! -e "$folder/$2" ]; then return; fi
    over "$library" "$1" "$2" >"$place/fails"
    good=$(grep -cE 'passed the (threshold|tests of the error exits)|Tests passed' "$place/said")
    passed=$((passed + good))
    # A test may fail that fails with OpenBLAS, too, if as many of its routine do: one of 7776 of STFSM, whose matrix is
    # nearly singular.
    if [ -s "$place/fails" ] && [ -n "$openblas" ]; then
        over "$openblas" "$1" "$2" >"$place/openblas"
        comm -23 "$place/fails" "$place/openblas" >"$place/ours"
        mv "$place/ours" "$place/fails"
    fi
    # Tests 5 to 7 of the drivers xGEGV and kin ask for the same bits of products of other sides. If no others of theirs
    # fail, it is enough that all pass by an invariant policy.
    drivers=$(sed -n 's/.*GV drivers: *\([0-9]*\) out of.*/\1/p' "$place/fails")
    if [ "$(grep -cE 'result +[5-7] is' "$place/fails")" = "$drivers" ]; then
        STRATAGEMM_POLICY='host(invariant)' over "$library" "$1" "$2" >"$place/invariant"
        grep -vE 'GV drivers: |result +[5-7] is' "$place/fails" >>"$place/invariant"
        mv "$place/invariant" "$place/fails"
    fi
    if [ -s "$place/fails" ] || [ "$good" -eq 0 ]; then
        echo "$1 <$2: $good passed"
        head -n 5 "$place/fails"
        failed=1
    fi
}
for type in ${LAPACK_TYPES:-s d c z}; do
    judge "xlintst$type" "${type}test.in"
    judge "xlintstrf$type" "${type}test_rfp.in"
    for input in nep sep se2 svd glm gqr gsv csd lse; do judge "xeigtst$type" $input.in; done
    for input in ec ed gg gd sb sg bb; do judge "xeigtst$type" "$type$input.in"; done
    case $type in # solvers that factor in the narrower type
    d) judge xlintstds dstest.in ;;
    z) judge xlintstzc zctest.in ;;
    esac
done
echo "$passed groups of tests passed"
exit $failed
