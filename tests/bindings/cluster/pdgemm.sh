#!/bin/sh
# pdgemm.sh START PROGRAM LIBRARY [FOLDER]: examples/cluster/pdgemm on two and four processes over the LIBRARY, preloaded,
# and over the libblas.so.3 in FOLDER. START is mpirun, or a script that takes its arguments. Prints what is wrong.
set -u
start=$1 program=$2 library=$3 folder=${4:-}
. "$(dirname "$0")/forms.sh"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
case $start in
*.sh) start="sh $start" ;;
*) start="$mpirun --oversubscribe --bind-to none" ;;
esac

# multiplies BLOCK PROCESSES VARIABLE=VALUE... -- ARGUMENTS...   sets `said`; all processes multiply here, in such blocks.
multiplies() {
    block=$1 processes=$2 variables=
    shift 2
    while [ "$1" != -- ]; do variables="$variables -x $1" && shift; done
    shift
    # shellcheck disable=SC2086
    said=$($start -np "$processes" $form $variables -x OMP_NUM_THREADS=1 -x STRATAGEMM_BLAS_REPORT=1 "$program" "$@" 2>&1)
    result=$?
    if [ $result -eq 77 ]; then echo "$said" && exit 77; fi
    [ $result -eq 0 ] || wrong "$form $variables: $processes processes: the program ends with $result"
    printf '%s\n' "$said" | grep -q "^right: " || wrong "$form $variables: $processes processes: not right"
    printf '%s\n' "$said" | grep -q "blocks of $block\$" || wrong "$form $variables: the blocks are not of $block"
    [ "$(printf '%s\n' "$said" | grep -c '^stratagemm-blas: process')" -eq "$processes" ] ||
        wrong "$form $variables: not all of the $processes processes have the library"
    [ -n "$(calls dgemm_)" ] || wrong "$form $variables: dgemm_ is not called, or left beneath"
}

for one in $forms; do
    over "$one"
    multiplies 512 4 'STRATAGEMM_POLICY=ozaki(fp64)' -- 333x517x700 30 1 "$place/c.npy"
    [ -e "$place/c.npy" ] || wrong "$form: there is no file"
    [ ! -e "$place/c.npy.unfinished" ] || wrong "$form: the file is not finished"
    rm -f "$place/c.npy"
    multiplies 512 2 -- 601x503x1307 64 1
done
large=$(calls dgemm_)
case $start in
*mpirun*)
    multiplies 32 2 STRATAGEMM_BLAS_BLOCK=32 -- 601x503x1307 64 1
    [ "$(calls dgemm_)" -gt "$large" ] || wrong "$form: blocks of 32 take no more calls than $large"
    multiplies 512 4 'STRATAGEMM_POLICY=strassen(host)' -- 150x100x1000 200 1 # three of the processes have nothing of C
    ;;
esac
exit $failed
