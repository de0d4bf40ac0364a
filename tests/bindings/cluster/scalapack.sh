#!/bin/sh
# scalapack.sh LIBRARY [FOLDER]: the testers of ScaLAPACK for level 3 and for systems of equations, which Debian's package
# scalapack-mpi-test has, on four processes over the LIBRARY, preloaded, and over the libblas.so.3 in FOLDER. Exits with 77
# where they are not. SCALAPACK_TESTERS names another folder with those for level 3. Prints what is wrong.
set -u
library=$1 folder=${2:-}
. "$(dirname "$0")/forms.sh"
testers=${SCALAPACK_TESTERS:-}
for place in /usr/lib/*/scalapack/openmpi-tests/PBLAS; do
    if [ -z "$testers" ] && [ -x "$place/dpb3tst" ]; then testers=$place; fi
done
if ! command -v "$mpirun" >/dev/null || [ ! -x "$testers/dpb3tst" ]; then
    echo "skipped: no testers of ScaLAPACK here (Debian: openmpi-bin, scalapack-mpi-test)"
    exit 77
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 1
cp "$testers"/P?BLAS3TST.dat .
# Systems of 200 equations, since those of Debian have up to 17; the testers have no room for many more.
for kind in LU LLT; do
    sed -E -e "s/^[0-9]+(.*number of (problems sizes|NB's|NRHS's))/1\\1/i" -e "s/^[0-9]+(.*number of NBRHS's)/1\\1/i" \
        -e 's/^[0-9 ]+(.*values of [MN])$/200 \1/' -e 's/^[0-9 ]+(.*values of NRHS)/90 \1/' \
        -e 's/^[0-9 ]+(.*values of NB(RHS)?)$/32 \1/' "$testers/../$kind.dat" >$kind.dat
done

passed=0
# judge TYPE POLICY   All routines of the summary passed all of their tests, on every grid that four processes make.
judge() {
    # shellcheck disable=SC2086
    said=$("$mpirun" --oversubscribe --bind-to none -np 4 $form -x "STRATAGEMM_POLICY=$2" -x STRATAGEMM_BLAS_REPORT=1 \
        "$testers/${1}pb3tst" 2>&1)
    case $1 in s | d) routines=8 ;; *) routines=11 ;; esac
    good=$(printf '%s\n' "$said" | awk '$1 == "|" && $3 > 0 && $3 == $4 && $5 == 0 && $6 == 0' | wc -l)
    passed=$((passed + good))
    called=$(calls "${1}gemm_")
    said=$(printf '%s\n' "$said" | grep -E '^ *\|  P|[*].*FAIL|symbol lookup error')
    case $said in *FAIL* | *symbol*) wrong "$form $2: ${1}pb3tst" ;; esac
    [ "$good" -eq "$routines" ] || wrong "$form $2: ${1}pb3tst: $good of $routines routines passed"
    [ -n "$called" ] || wrong "$form $2: ${1}pb3tst does not call the library"
}
# solves PROGRAM TYPE   by factors; unlike the testers of level 3 it takes the library's size of blocks.
solves() {
    # shellcheck disable=SC2086
    said=$("$mpirun" --oversubscribe --bind-to none -np 4 $form -x STRATAGEMM_BLAS_REPORT=1 "$testers/../$1" 2>&1)
    called=$(calls "${2}gemm_")
    said=$(printf '%s\n' "$said" | grep -E 'tests (completed|skipped)|symbol lookup error')
    good=$(printf '%s\n' "$said" | awk '/passed/ { passed = $1 } /failed|skipped/ { rest += $1 } END { print rest ? 0 : passed + 0 }')
    [ "$good" -gt 0 ] || wrong "$form: $1"
    [ -n "$called" ] || wrong "$form: $1 does not call the library"
    solved=$((solved + good))
}
solved=0
for one in $forms; do
    over "$one"
    for type in s d c z; do judge $type host; done
done
over preload
for type in d z; do judge $type 'ozaki(fp64)'; done
for kind in lu llt; do solves "xd$kind" d; done
echo "$passed routines of level 3 and $solved systems of equations passed"
exit $failed
