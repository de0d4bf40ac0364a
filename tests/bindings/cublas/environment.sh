#!/bin/sh
# environment.sh PROGRAM OPENS LIBRARY AUDIT: what the environment says to a program of cuBLAS, linked with that, and to
# one that opens it. LIBRARY is preloaded, AUDIT beside it. Prints what is wrong, if something is.
set -u
program=$1 opens=$2 library=$3 audit=$4
unset STRATAGEMM_POLICY STRATAGEMM_CUBLAS_MIN STRATAGEMM_CUBLAS_REPORT
here=196608 beneath=0 # what the program prints if its products are done here, and if not
. "$(dirname "$0")/../says.sh"
# preloaded TEXT STATUS VARIABLE=VALUE...   as says(), over the library.
preloaded() {
    text=$1 status=$2
    shift 2
    says "$text" "$status" "LD_PRELOAD=$library" "$@"
}

preloaded "$here" 0 STRATAGEMM_POLICY=
for policy in cuda 'cuda(invariant)' 'strassen(cuda)' 'ozaki(cuda)' 'automatic(cuda)' ' ozaki ( cuda ) '; do
    preloaded "policy $(echo "$policy" | tr -d ' ')" 0 "STRATAGEMM_POLICY=$policy" STRATAGEMM_CUBLAS_REPORT=1
    counts cublasDgemm_v2 3 0
    printf '%s\n' "$said" | grep -qx $here || wrong "the products of $policy are wrong"
done
preloaded "'strasen(cuda)' names no policy: character 6 is wrong. Valid names: cuda," 2 'STRATAGEMM_POLICY=strasen(cuda)'
preloaded "'host' names no policy: character 1 is wrong" 2 STRATAGEMM_POLICY=host
preloaded "STRATAGEMM_CUBLAS_MIN: 'many' is no number of flops" 2 STRATAGEMM_CUBLAS_MIN=many
preloaded "STRATAGEMM_CUBLAS_REPORT: 'yes' is neither 0 nor 1" 2 STRATAGEMM_CUBLAS_REPORT=yes

preloaded "fewer flops than STRATAGEMM_CUBLAS_MIN" 0 STRATAGEMM_CUBLAS_MIN=1e6 STRATAGEMM_CUBLAS_REPORT=1
counts cublasDgemm_v2 0 3
printf '%s\n' "$said" | grep -qx $beneath || wrong "products are done that were left beneath"
preloaded "a mode of the handle, or a variable of cuBLAS" 0 CUBLAS_EMULATE_DOUBLE_PRECISION=1 STRATAGEMM_CUBLAS_REPORT=1
counts cublasDgemm_v2 0 3

# Without a driver the program still starts, and cuBLAS says what is wrong.
said=$(env "LD_PRELOAD=$library" LD_LIBRARY_PATH= "$program" 2>&1) && wrong "the program runs without a driver"
printf '%s\n' "$said" | grep -qF stratagemm && wrong "the library complains of a driver that is missing"

# A program that opens cuBLAS itself: preloading alone does not reach it.
said=$(LD_PRELOAD=$library "$opens" 2>&1) || wrong "the program that opens cuBLAS fails"
[ "$said" = $beneath ] || wrong "a function that is found in cuBLAS's own library is not cuBLAS's"
said=$(LD_PRELOAD=$library LD_AUDIT=$audit "$opens" 2>&1) || wrong "with the auditor, the program that opens cuBLAS fails"
[ "$said" = $here ] || wrong "the auditor does not reach a program that opens cuBLAS"
said=$(LD_PRELOAD=$library LD_AUDIT=$audit "$program" 2>&1) || wrong "with the auditor, the program fails"
[ "$said" = $here ] || wrong "with the auditor, a program that is linked with cuBLAS does not get here"
said=$(LD_AUDIT=$audit "$opens" 2>&1) || wrong "with the auditor alone, the program fails"
printf '%s\n' "$said" | grep -qF "preload libstratagemm-cublas.so, too" || wrong "the auditor does not say what is missing"
exit $failed
