#!/bin/sh
# environment.sh PROGRAM LIBRARY WIDE [BENEATH]: what the environment says to a program, which LIBRARY multiplies for.
# WIDE: the library whose integers have 64 bits. BENEATH: a BLAS. Prints what is wrong, if something is.
set -u
program=$1 library=$2 wide=$3 beneath=${4:-}
unset STRATAGEMM_POLICY STRATAGEMM_BLAS_NEXT STRATAGEMM_BLAS_MIN STRATAGEMM_BLAS_REPORT
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
. "$(dirname "$0")/../says.sh"

for policy in host 'host(invariant)' reference 'recursive(host)' 'strassen(host)' 'ozaki(host)' 'ozaki(fp32)' \
    'ozaki(fp64)' 'split(host)' 'verified(host)' 'automatic(host)' ' strassen ( host ) '; do
    says "policy $(echo "$policy" | tr -d ' ')" 0 "STRATAGEMM_POLICY=$policy" STRATAGEMM_BLAS_REPORT=1
done
says "policy host" 0 STRATAGEMM_POLICY= STRATAGEMM_BLAS_REPORT=1
says "'strasen(host)' names no policy: character 6 is wrong. Valid names: host," 2 'STRATAGEMM_POLICY=strasen(host)'
says "'ozaki(fp16)' names no policy: character 9 is wrong" 2 'STRATAGEMM_POLICY=ozaki(fp16)'
says "'ozaki(' names no policy: it ends too early" 2 'STRATAGEMM_POLICY=ozaki('
says "'host,' names no policy: character 5 is wrong" 2 'STRATAGEMM_POLICY=host,'

says "host, host(invariant)," 2 STRATAGEMM_POLICY=device
says "automatic(host,cuda), opencl" 2 STRATAGEMM_POLICY=device

# Policies over devices, whose names may be spaced: without a device, and without the library that knows how to use one.
says "STRATAGEMM_POLICY: strassen(cuda): " 2 CUDA_VISIBLE_DEVICES= LD_LIBRARY_PATH= 'STRATAGEMM_POLICY=strassen(cuda)'
says "STRATAGEMM_POLICY: automatic(host,cuda): " 2 CUDA_VISIBLE_DEVICES= LD_LIBRARY_PATH= \
    'STRATAGEMM_POLICY=automatic(host, cuda)'
cp "$library" "$folder/libalone.so"
for device in cuda opencl; do
    says "STRATAGEMM_POLICY: $device: needs libstratagemm-blas-$device.so beside this library: " 2 \
        "LD_PRELOAD=$folder/libalone.so" STRATAGEMM_POLICY=$device
done

says "STRATAGEMM_BLAS_MIN: 'many' is no number of flops" 2 STRATAGEMM_BLAS_MIN=many
says "STRATAGEMM_BLAS_MIN: '-1' is no number of flops" 2 STRATAGEMM_BLAS_MIN=-1
says "STRATAGEMM_BLAS_REPORT: 'yes' is neither 0 nor 1" 2 STRATAGEMM_BLAS_REPORT=yes
for block in 0 -1 512x 99999999999 many; do
    says "STRATAGEMM_BLAS_BLOCK: '$block' is no number of rows, such as 512" 2 "STRATAGEMM_BLAS_BLOCK=$block"
done
says stratagemm-blas: 0 STRATAGEMM_BLAS_BLOCK=256 STRATAGEMM_BLAS_REPORT=1
says "STRATAGEMM_BLAS_NEXT: cannot be opened" 2 STRATAGEMM_BLAS_NEXT=libnosuchblas.so.7
says "is this library" 2 "STRATAGEMM_BLAS_NEXT=$library"
cp "$library" "$folder/libanother.so"
says "is this library" 2 "STRATAGEMM_BLAS_NEXT=$folder/libanother.so"

says stratagemm-blas: 0 STRATAGEMM_BLAS_REPORT=1
counts dgemm_ 1 0
says stratagemm-blas: 0 STRATAGEMM_BLAS_REPORT=1 STRATAGEMM_BLAS_MIN=1e5 # the call has 2e6 flops
counts dgemm_ 1 0
if [ -n "$beneath" ]; then
    says stratagemm-blas: 0 STRATAGEMM_BLAS_REPORT=1 STRATAGEMM_BLAS_MIN=1e9 "STRATAGEMM_BLAS_NEXT=$beneath"
    counts dgemm_ 0 1
    says stratagemm-blas: 0 STRATAGEMM_BLAS_REPORT=1 STRATAGEMM_BLAS_MIN=1e9 "LD_PRELOAD=$library:$beneath"
    counts dgemm_ 0 1
fi

# Integers of another width than those of the program's BLAS, as Debian names such libraries.
cp "$wide" "$folder/libblas64.so.3"
says "the integers of dgemm_ have 32 bits here, and 64 bits in $folder/libblas64.so.3" 2 \
    "LD_PRELOAD=$library:$folder/libblas64.so.3"
exit $failed
