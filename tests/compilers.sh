#!/bin/sh
# compilers.sh CXX...: tries the library with each compiler, such as
#   sh tests/compilers.sh g++-14 clang++-19 'clang++-19 -stdlib=libc++' 'python3 -m ziglang c++'
# Each public header compiles alone and without warnings, in C++20 and in the newest standard that the compiler knows
# (STANDARDS="20 23" names others). Then examples/hello.cpp and compilers.cpp are compiled with -O2 and run with each
# instruction set of this machine. A compiler takes minutes, and so `./dev test` leaves this out. The CUDA headers are
# compiled where the toolkit's headers are (CUDA_HOME names its folder), those of OpenCL where its headers are.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { sed -n '2,3s/^# *//p' tests/compilers.sh >&2 && exit 2; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
warnings='-Wall -Wextra -Wconversion -Wshadow -pedantic -Werror'

cuda=
for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr; do
    if [ -z "$cuda" ] && [ -f "$folder/include/nvrtc.h" ]; then cuda=$folder/include; fi
done
echo 'int main() {}' >"$tmp/empty.cpp"
echo '#include <CL/cl.h>' >"$tmp/opencl.cpp"

# takes FLAG...: whether the compiler, $cxx, compiles an empty program with these.
# shellcheck disable=SC2086
takes() { $cxx "$@" "$tmp/empty.cpp" -o "$tmp/empty" >/dev/null 2>&1; }

# compile NAME FLAG...: prints what the compiler says, if it fails.
# shellcheck disable=SC2086
compile() {
    name=$1
    shift
    if $cxx $warnings -Iinclude "$@" >"$tmp/log" 2>&1; then return 0; fi
    printf '%s: %s does not compile:\n' "$cxx" "$name"
    cat "$tmp/log"
    failures=$((failures + 1))
    return 1
}

# headers STANDARD: each alone.
headers() {
    count=0 before=$failures
    for header in $(cd include && find stratagemm -name '*.hpp' ! -name '*.inl.hpp' | sort); do
        case $header in
        */backend/cuda*) [ -n "$cuda" ] || continue ;;
        */backend/opencl*) [ -n "$opencl" ] || continue ;;
        esac
        printf '#include <%s>\n' "$header" >"$tmp/header.cpp"
        compile "$header in C++$1" "-std=c++$1" -fsyntax-only ${cuda:+-isystem "$cuda"} "$tmp/header.cpp" || true
        count=$((count + 1))
    done
    printf '%s: C++%s: %d headers, %d fail\n' "$cxx" "$1" "$count" $((failures - before))
}

# runs COMMAND...: prints what a program says, if it fails. `status` is its exit status.
runs() {
    status=0
    "$@" >"$tmp/log" 2>&1 || status=$?
    case $status in 0 | 77) return 0 ;; esac
    printf '%s: exit status %d of %s:\n' "$cxx" "$status" "$*"
    cat "$tmp/log"
    failures=$((failures + 1))
}

# programs: examples/hello.cpp, and compilers.cpp with each instruction set.
programs() {
    threads='' ran='' before=$failures
    if takes -fopenmp; then threads=-fopenmp; fi
    flags="-std=c++20 -O2 ${threads:-(without OpenMP)}"
    if compile examples/hello.cpp -std=c++20 -O2 $threads examples/hello.cpp -o "$tmp/hello"; then
        runs "$tmp/hello"
    fi
    if compile tests/compilers.cpp -std=c++20 -O2 $threads tests/compilers.cpp -o "$tmp/compilers"; then
        for isa in portable avx2 avx512 amx; do
            runs env STRATAGEMM_ISA=$isa "$tmp/compilers"
            if [ "$status" -eq 0 ]; then ran="$ran $isa"; fi
        done
    fi
    printf '%s: programs, %s, ran with:%s; %d fail\n' "$cxx" "$flags" "$ran" $((failures - before))
}

bad=0
for cxx; do
    failures=0
    # shellcheck disable=SC2086
    $cxx --version 2>/dev/null | head -n 1 || true
    if takes -std=c++20; then
        opencl=
        # shellcheck disable=SC2086
        if $cxx -fsyntax-only "$tmp/opencl.cpp" >/dev/null 2>&1; then opencl=yes; fi
        newest=
        for standard in 2b 23 2c 26; do
            if takes "-std=c++$standard"; then newest=$standard; fi
        done
        for standard in ${STANDARDS:-20 $newest}; do headers "$standard"; done
        programs
    else
        printf '%s: not here, or without C++20\n' "$cxx"
        failures=1
    fi
    bad=$((bad + failures))
done
[ "$bad" -eq 0 ]
