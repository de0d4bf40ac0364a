#!/bin/sh
# bench/fit.sh [files]: measures random shapes on the host, with each instruction set that the machine has, into
# bench/results/estimate-ISA.txt, or estimate-zen4.txt for AVX-512 on AMD processors of family 25, and fits
# host/costs_table.hpp to them. With "files" it fits to what is there.
# bench/fit.sh cuda [files]: measures what engines can do with random products on an NVIDIA device, into
# bench/results/ways-cuda.txt, fits cuda/engine/tile_costs_table.hpp to it, and prints how far off what is chosen is. With
# "files" it fits to ways-cuda-h200.txt.
# bench/fit.sh opencl [files]: the same on the first OpenCL device, into bench/results/ways-opencl.txt and
# opencl/costs_table.hpp, of which the rows of other families stay. With "files" it fits to ways-opencl-*.txt.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${STRATAGEMM_BENCH_BUILD:-$root/build/bench}
table=$root/include/stratagemm/backend/host/costs_table.hpp

# measure ISA COUNT THREADS COLUMN
measure() {
    file=$root/bench/results/estimate-$4.txt
    new=$(mktemp)
    for threads in $3; do
        STRATAGEMM_ISA=$1 "$build/bench/bench_host" --estimate --seed=11 --count="$2" --threads="$threads" --rounds=11 \
            --data="$new.$threads" --report="$new" >"$new.log" || {
            tail -n 3 "$new.log" >&2
            echo "bench/fit.sh: nothing was measured with $1; $file stays" >&2
            rm -f "$new"*
            return 0
        }
    done
    {
        echo "Products of random shapes on the host with $1: type, threads, m x n x k, layout of A and B, microseconds."
        echo "Command: ./dev bench fit; seed 11, $2 shapes. Date: $(date -u +%F). $(sed -n 's/^processor: //p' "$new.log")"
        sed 's/ to float//' "$new".[12] | cut -d ' ' -f 1-5
    } >"$file"
    rm -f "$new"*
}

if [ "${1-}" = cuda ]; then
    sh "$root/bench/build.sh" bench_fit_cuda
    file=$root/bench/results/ways-cuda-h200.txt
    if [ "${2-}" != files ]; then
        sh "$root/bench/build.sh" cuda_ways
        file=$root/bench/results/ways-cuda.txt
        cache=$(mktemp -d)
        STRATAGEMM_CACHE_DIR=$cache "$build/bench/cuda_ways" 1 200 sdwbt4cz 110 "$(nproc)" >"$file.new"
        rm -rf "$cache"
        mv "$file.new" "$file"
    fi
    table=$root/include/stratagemm/backend/cuda/engine/tile_costs_table.hpp
    "$build/bench/bench_fit_cuda" "$table" "$file"
    if command -v clang-format >/dev/null; then clang-format -i "$table"; fi
    exit 0
fi
if [ "${1-}" = opencl ]; then
    sh "$root/bench/build.sh" bench_fit_opencl
    set -- "${2-}" "$root"/bench/results/ways-opencl-*.txt
    if [ "$1" != files ]; then
        sh "$root/bench/build.sh" opencl_ways
        set -- "" "$root/bench/results/ways-opencl.txt"
        cache=$(mktemp -d)
        STRATAGEMM_CACHE_DIR=$cache "$build/bench/opencl_ways" "" 1 100 sdicz 80 "$(nproc)" >"$2.new"
        rm -rf "$cache"
        mv "$2.new" "$2"
    fi
    shift
    table=$root/include/stratagemm/backend/opencl/costs_table.hpp
    "$build/bench/bench_fit_opencl" "$table" "$@"
    if command -v clang-format >/dev/null; then clang-format -i "$table"; fi
    exit 0
fi
if [ "${1-}" != files ]; then
    sh "$root/bench/build.sh" bench_host
    measure avx512 300 "1 2" "$(awk '/^vendor_id.*AMD/ { amd = 1 } /^cpu family.* 25$/ && amd { zen = 1 }
        END { print zen ? "zen4" : "avx512" }' /proc/cpuinfo)"
    measure avx2 150 1 avx2
    measure portable 100 1 portable
fi
sh "$root/bench/build.sh" bench_fit
cd "$root/bench/results"
"$build/bench/bench_fit" "$table" avx512 estimate-avx512.txt zen4 estimate-zen4.txt avx2 estimate-avx2.txt \
    portable estimate-portable.txt
if command -v clang-format >/dev/null; then clang-format -i "$table"; fi
