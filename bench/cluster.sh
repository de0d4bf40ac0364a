#!/bin/sh
# cluster.sh PROGRAM LIBRARIES [SIZE = 2000 [ROUNDS = 3]]: what ./dev cluster prints. PROGRAM is examples/cluster/pdgemm,
# LIBRARIES the folder with what ./dev blas builds. Fails if a product is wrong.
set -eu
program=$1 libraries=$2 size=${3:-2000} rounds=${4:-3}
machines=$(dirname "$0")/../examples/cluster/two_machines.sh
preload="-x LD_PRELOAD=$libraries/libstratagemm-blas.so"
in_place="-x LD_LIBRARY_PATH=$libraries/stratagemm"
said=$(mktemp)
trap 'rm -f "$said"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# multiplies PROCESSES ROUNDS ARGUMENTS...   the arguments are mpirun's; one thread a process. Sets `result` and `rate`.
multiplies() {
    processes=$1 times=$2
    shift 2
    result=0
    # shellcheck disable=SC2086
    $start -np "$processes" -x OMP_NUM_THREADS=1 -x OPENBLAS_NUM_THREADS=1 "$@" \
        "$program" "$size" 64 "$times" >"$said" 2>&1 || result=$?
    rate=$(awk '/^right/ { print $2 }' "$said")
}
on_one="$(command -v mpirun.openmpi || echo mpirun) --oversubscribe --bind-to none"

echo "pdgemm $size x $size x $size, one thread a process, median of $rounds rounds, checked"
printf '%-24s %-26s %10s\n' where BLAS GFLOP/s
for place in '2 processes' '4 processes' 'two machines'; do
    processes=2 start=$on_one
    case $place in
    4*) processes=4 ;;
    two*) start="sh $machines" ;;
    esac
    for blas in 'installed' 'preloaded' 'libblas.so.3 in place'; do
        case $blas in
        installed) form= ;;
        preloaded) form=$preload ;;
        *) form=$in_place ;;
        esac
        # shellcheck disable=SC2086
        multiplies "$processes" "$rounds" $form
        [ "$result" -ne 77 ] || { cat "$said" && break; }
        [ "$result" -eq 0 ] || { cat "$said" && exit 1; }
        printf '%-24s %-26s %10s\n' "$place" "$blas" "$rate"
    done
done

# In turn, since a machine's clock wanders; the ratio is that of medians.
start=$on_one
rates=$(mktemp)
trap 'rm -f "$said" "$rates"' EXIT
policies='installed host strassen(host) ozaki(host) ozaki(fp64)'
round=0
while [ $round -lt "$rounds" ]; do
    for block in 32 128 512 2048; do
        for policy in $policies; do
            if [ "$policy" = installed ] && [ $block -ne 32 ]; then continue; fi # ScaLAPACK's own block
            form="$preload -x STRATAGEMM_POLICY=$policy -x STRATAGEMM_BLAS_BLOCK=$block"
            [ "$policy" != installed ] || form=
            # shellcheck disable=SC2086
            multiplies 2 1 $form
            [ "$result" -eq 0 ] || { cat "$said" && exit 1; }
            echo "$policy $block $rate" >>"$rates"
        done
    done
    round=$((round + 1))
done
echo
echo "2 processes, by STRATAGEMM_BLAS_BLOCK: GFLOP/s, and the ratio to the installed BLAS, whose blocks have 32"
sort -k1,1 -k2,2n -k3,3n "$rates" | awk '
    { key = $1 " " $2; if (key != before) { n = 0; keys[++count] = key; before = key } value[key, ++n] = $3; number[key] = n }
    function median(key) { return value[key, int((number[key] + 1) / 2)] }
    END {
        peer = median("installed 32")
        for (i = 1; i <= count; ++i) {
            split(keys[i], part, " ")
            printf "%-24s %-26s %10.1f %10.2f\n", part[1], part[2], median(keys[i]), median(keys[i]) / peer
        }
    }'
