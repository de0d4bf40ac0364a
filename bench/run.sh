#!/bin/sh
# Builds and runs the benchmark program of a backend, with its report.
#   bench/run.sh BACKEND [filter]     filter: a regular expression over case names, or "quick"; for accuracy MxNxK
#   bench/run.sh emulation cuda [filter]   and bench/run.sh accuracy cuda [size]: the same on a CUDA device
#   bench/run.sh sweep|estimate [BACKEND [SEED [COUNT]]]   random shapes: against the peers, and against estimate()
#   bench/run.sh fit [cuda|opencl] [files]  measures random shapes and fits the costs that the host estimates with, or a
#                             device chooses by; files: what was measured before is fitted again
#   bench/run.sh choices [SEED [COUNT [THREADS]]]   what the host chooses against every other way on it
#   bench/run.sh automatic [BACKEND [SEED [COUNT]]]   what the policy automatic chooses against all that it could choose
#   bench/run.sh matrix [BACKEND]   which policy the estimates choose for classes of shapes, and what that costs
#   bench/run.sh out_of_core [N [MIB [DEVICES]]]
#   bench/run.sh panels [N [double|float [DEVICES [xt]]]]
#   bench/run.sh sparse [events [SIDE] | csr [N]], sparse host [filter | files], and sparse opencl [filter]
#   bench/run.sh fft [host|opencl|cuda [filter]], fft host errors, fft variants, fft toeplitz, fft dense, fft kronecker   transforms
#   bench/run.sh approximate [SIZE... | coverage [TRIALS] | cuda [PART]]   error against time
# The build folder is ${STRATAGEMM_BENCH_BUILD:-build/bench}; results are written below it.
set -eu

backend=${1:?usage: bench/run.sh BACKEND [filter]}
case $backend-${2-} in
emulation-cuda | accuracy-cuda | sparse-host | sparse-opencl | approximate-cuda | automatic-opencl | automatic-cuda | fft-*)
    backend=${backend}_${2:-host}
    [ $# -eq 1 ] || shift
    ;;
esac
# A label as the tables print it, "sgemm 512, packed", is the name sgemm/512_packed.
filter=$(printf '%s' "${2-}" | sed 's/, / /g; s/ /[\/_]/g')
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRATAGEMM_BENCH_BUILD:-$root/build/bench}
program=bench_$backend

case $backend in
automatic) [ $# -eq 1 ] || shift ;; # the host
esac

case $backend in
sweep | estimate)
    asked=$backend backend=${2:-host}
    program=bench_$backend
    sh "$root/bench/build.sh" "$program"
    page=$build/$asked-$backend
    set -- "--$asked" ${3:+"--seed=$3"} ${4:+"--count=$4"} --benchmark_out="$page.json" --report="$page.html" --data="$page.txt"
    result=0
    "$build/bench/$program" "$@" || result=$?
    printf '\nJSON: %s\nHTML: %s\n' "$page.json" "$page.html"
    if [ "$asked" = estimate ]; then
        sh "$root/bench/estimates.sh" "$page.txt" >"$page.svg"
        printf 'picture: %s\n' "$page.svg"
    fi
    exit "$result"
    ;;
matrix)
    backend=${2:-host}
    sh "$root/bench/build.sh" "bench_matrix_$backend"
    page=$build/matrix-$backend.txt
    "$build/bench/bench_matrix_$backend" "$page"
    echo
    awk -f "$root/bench/matrix.awk" "$page"
    printf '\nmeasured: %s\n' "$page"
    exit
    ;;
fft_host | fft_opencl | fft_cuda)
    sh "$root/bench/build.sh" "$program"
    if [ "$backend-$filter" = fft_host-errors ]; then exec "$build/bench/$program" errors; fi
    sh "$root/bench/cases.sh" --renew "$backend" "$build/bench/$program"
    exec "$build/bench/$program" --benchmark_filter="$filter" --benchmark_out="$build/$backend.json"
    ;;
fft_kronecker)
    sh "$root/bench/build.sh" "$program"
    exec python3 "$root/bench/peers/kronecker.py" "$build/bench/$program"
    ;;
fft_variants | fft_toeplitz | fft_dense)
    sh "$root/bench/build.sh" "$program"
    exec "$build/bench/$program"
    ;;
approximate)
    shift
    sh "$root/bench/build.sh" "$program"
    if [ "${1-}" = coverage ]; then exec "$build/bench/$program" "$@"; fi
    page=$build/approximate
    rm -f "$page.failed"
    { "$build/bench/$program" "$@" || echo "$?" >"$page.failed"; } | tee "$page.txt"
    if [ -f "$page.failed" ]; then exit "$(cat "$page.failed")"; fi
    sh "$root/bench/approximate.sh" "$page.txt" >"$page.svg"
    printf '\npicture: %s\n' "$page.svg"
    exit
    ;;
fit)
    shift
    sh "$root/bench/fit.sh" "$@"
    exit
    ;;
automatic | automatic_opencl | automatic_cuda | out_of_core | panels | sparse | sparse_host | sparse_opencl | approximate_cuda | choices)
    shift
    sh "$root/bench/build.sh" "$program"
    if [ "$backend" = sparse_host ]; then
        sh "$root/bench/cases.sh" --renew "$backend" "$build/bench/$program"
        [ "$filter" = files ] || set -- --benchmark_filter="$filter" --benchmark_out="$build/$backend.json"
    fi
    exec "$build/bench/$program" "$@"
    ;;
host | opencl | cuda | emulation | emulation_cuda | accuracy | accuracy_cuda) ;;
*)
    echo "bench/run.sh: there is no benchmark program for '$backend'; there are host, opencl, cuda, emulation, accuracy, sweep, estimate, fit, choices, automatic, matrix, out_of_core, panels, sparse, fft, approximate" >&2
    exit 2
    ;;
esac
sh "$root/bench/build.sh" "$program"
case $backend in accuracy*) ;; *) sh "$root/bench/cases.sh" --renew "$backend" "$build/bench/$program" --threads=1,2 ;; esac

pages=$build
if [ "$backend" = accuracy_cuda ]; then pages=$build/cuda; fi # its pictures have the names of those of the host
mkdir -p "$pages"
set -- --report="$pages/report.html"
case $backend in accuracy*) ;; *) set -- "$@" --benchmark_out="$build/$backend.json" ;; esac
case $filter in
'') ;;
quick) set -- "$@" --quick ;;
*) case $backend in accuracy*) set -- "$@" "$filter" ;; *) set -- "$@" --benchmark_filter="$filter" ;; esac ;;
esac

# The first product of a process, with an empty cache and with a full one.
case $backend in
opencl | cuda)
    "$build/bench/$program" "$@" --benchmark_list_tests >/dev/null # a filter that matches no case ends it here
    sh "$root/bench/build.sh" "${backend}_start"
    cache=$(mktemp -d)
    for _ in first second third; do STRATAGEMM_CACHE_DIR="$cache" "$build/bench/${backend}_start" || true; done
    rm -rf "$cache"
    ;;
esac
"$build/bench/$program" "$@"
if [ "$backend" = emulation_cuda ]; then # where the time goes
    echo
    "$build/bench/$program" "$@" --phases
fi

echo
case $backend in
accuracy*) echo "pictures: $pages/accuracy-fp64.svg, $pages/accuracy-fp32.svg" ;;
*) printf 'JSON: %s\nHTML: %s\n' "$build/$backend.json" "$build/report.html" ;;
esac
