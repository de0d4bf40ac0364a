#!/bin/sh
# ./dev without anything to install or build with: programs of these names take note that they were called, and fail. It
# installs nothing unasked, and checks what it was asked for first. Prints what is wrong, if something is.
set -u
cd "$(dirname "$0")/.." || exit 1
stubs=$(mktemp -d)
trap 'rm -rf "$stubs"' EXIT
for tool in apt-get cmake ninja make; do
    printf '#!/bin/sh\necho %s >>"%s/called"\nexit 1\n' "$tool" "$stubs" >"$stubs/$tool"
done
printf '#!/bin/sh\necho 0\n' >"$stubs/id" # root, who could install
printf '#!/bin/sh\nexit 1\n' >"$stubs/dpkg-query" # and to whom every package is missing
chmod +x "$stubs"/*
PATH=$stubs:$PATH
export PATH
unset INSTALL

failed=0
wrong() {
    printf '%s\n%s\n\n' "$*" "$said"
    failed=1
}
# run ARGUMENT...   sets said, result and called.
run() {
    : >"$stubs/called"
    said=$(./dev "$@" </dev/null 2>&1)
    result=$?
    called=$(sort -u "$stubs/called" | tr '\n' ' ')
}
# refuses TEXT ARGUMENT...   the command fails with the text, and nothing was called.
refuses() {
    text=$1
    shift
    run "$@"
    [ "$result" -ne 0 ] || wrong "./dev $* does not fail"
    [ -z "$called" ] || wrong "./dev $* calls $called"
    printf '%s\n' "$said" | grep -qF -e "$text" || wrong "./dev $* does not say: $text"
}

refuses "no case of host matches 'nosuchcase'" bench host nosuchcase
refuses "no case of opencl matches 'nosuchcase'" bench opencl nosuchcase
refuses "no case of emulation matches 'nosuchcase'" bench emulation nosuchcase
refuses "no case of cuda matches 'nosuchcase'" bench cuda nosuchcase
refuses "no case of emulation_cuda matches 'nosuchcase'" bench emulation cuda nosuchcase
refuses "no case of sparse_host matches 'nosuchcase'" bench sparse host nosuchcase
refuses "no case of fft_host matches 'nosuchcase'" bench fft host nosuchcase
refuses "no case of fft_cuda matches 'nosuchcase'" bench fft cuda nosuchcase
refuses "'nosuch' is not for fft" bench fft nosuch
refuses "and not 'nosuch'" bench approximate nosuch
refuses "and not 'nosuch'" bench approximate coverage nosuch
refuses "'coverage' comes first" bench approximate 512 coverage
refuses "the filter '(' is no regular expression" bench host '('
refuses "no backend 'nosuch' to sweep" bench sweep nosuch
refuses "no backend 'nosuch' to choose on" bench matrix nosuch
refuses "and not '0'" bench sweep host 1 0
run bench automatic host 1 0 # which times choosing alone
[ "$called" ] || wrong "./dev bench automatic host 1 0 builds nothing"
refuses "no type 'nosuch'" demo 64 nosuch
refuses "'nosuch' has no roofline" roofline nosuch
refuses "'2' has no roofline" roofline host 2
refuses "'nosuch' has no crossovers" crossovers nosuch
refuses "'nosuch' is no size" cluster nosuch
refuses "cluster takes SIZE and ROUNDS" cluster 1000 1 1
if git rev-parse --verify --quiet HEAD >/dev/null 2>&1; then
    refuses "no case of against_host matches 'nosuchcase'" bench against HEAD nosuchcase
    refuses "no case of against_opencl matches 'nosuchcase'" bench against HEAD opencl nosuchcase
fi
if [ ! -e /dev/nvidia0 ] && ! /sbin/ldconfig -p | grep -q 'libcuda\.so\.1'; then
    refuses "no driver of an NVIDIA device" bench cuda
    refuses "no driver of an NVIDIA device" bench sparse csr
    refuses "no driver of an NVIDIA device" roofline cuda
    refuses "no driver of an NVIDIA device" crossovers cuda
fi

# What a command can use and does without is named, and is installed only if that was asked for.
for command in test 'bench host sgemm/512' 'bench opencl quick' 'bench sparse host' roofline 'crossovers opencl'; do
    # shellcheck disable=SC2086
    run $command
    [ "$called" = 'cmake ' ] || wrong "./dev $command calls: $called"
    printf '%s\n' "$said" | grep -q 'to get it, as root: apt-get install [a-z]' ||
        wrong "./dev $command does not say how to get what is not installed"
done
INSTALL=yes
export INSTALL
run bench host 'sgemm/512'
case $called in *apt-get*) ;; *) wrong "INSTALL=yes ./dev bench host calls: $called" ;; esac

exit $failed
