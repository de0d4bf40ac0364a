#!/bin/sh
# hpl.sh LIBRARY [FOLDER]: HPL, as Debian's package hpcc has it, on two processes over the LIBRARY, preloaded, and over the
# libblas.so.3 in FOLDER: it solves a system of equations with panels of two widths, and judges the residual. Exits with 77
# where it is not. HPL_SIDE is the order of the system. Prints what is wrong.
set -u
library=$1 folder=${2:-}
. "$(dirname "$0")/forms.sh"
example=/usr/share/doc/hpcc/examples/_hpccinf.txt
if ! command -v "$mpirun" >/dev/null || ! command -v hpcc >/dev/null || [ ! -e "$example" ]; then
    echo "skipped: no HPL here (Debian: openmpi-bin, hpcc)"
    exit 77
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 1
sed -e "s/^1000 *Ns/${HPL_SIDE:-640} Ns/" -e 's/^1 *# of NBs/2 # of NBs/' -e 's/^80 *NBs/128 256 NBs/' \
    -e 's/^2 *Ps/1 Ps/' "$example" >hpccinf.txt

# solves POLICY
solves() {
    rm -f hpccoutf.txt
    # shellcheck disable=SC2086
    said=$("$mpirun" --oversubscribe --bind-to none -np 2 $form -x "STRATAGEMM_POLICY=$1" -x STRATAGEMM_BLAS_REPORT=1 \
        hpcc 2>&1)
    for routine in cblas_dgemm cblas_dtrsm; do
        [ -n "$(calls $routine)" ] || wrong "$form $1: $routine is not called, or left beneath"
    done
    said=$(grep -E '^(WR|Success)|Ax-b.*=' hpccoutf.txt)
    [ "$(printf '%s\n' "$said" | grep -c 'Ax-b.*PASSED')" -eq 2 ] || wrong "$form $1: the residuals did not pass"
    printf '%s\n' "$said" | grep -qx 'Success=1' || wrong "$form $1: hpcc had no success"
    printf '%s\n' "$form $1" "$said" | grep -E '^-x|^WR|Ax-b'
}
for one in $forms; do
    over "$one"
    solves host
done
over preload
solves 'ozaki(fp64)'
exit $failed
