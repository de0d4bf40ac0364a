#!/bin/sh
# The portable kernels on another processor: unit tests compiled for aarch64 and run by qemu. This takes minutes, and so
# `./dev test` leaves it out. Debian and Ubuntu: apt-get install g++-aarch64-linux-gnu qemu-user-static catch2
set -eu
cd "$(dirname "$0")"

compiler=${CXX:-aarch64-linux-gnu-g++}
for tool in "$compiler" qemu-aarch64-static; do
    command -v "$tool" >/dev/null || { echo "aarch64.sh: no $tool here" >&2 && exit 77; }
done
build=../build/aarch64
mkdir -p "$build/include"
# Headers alone, but not those of this machine's own library.
ln -sfn /usr/include/catch2 "$build/include/catch2"
printf '#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n' >"$build/main.cpp"

# Without unit/algorithm/ozaki.cpp, which checks itself in a type that only x86 has.
objects=
for source in "$build/main.cpp" unit/gemm.cpp unit/core/*.cpp unit/structure/*.cpp unit/backend/host.cpp \
    unit/backend/combined.cpp unit/backend/reference.cpp unit/algorithm/strassen.cpp unit/algorithm/recursive.cpp \
    unit/algorithm/split.cpp; do
    object=$build/$(echo "$source" | tr '/.' '__').o
    echo "$source"
    "$compiler" -std=c++20 -O1 -fopenmp -I../include -I. -isystem "$build/include" -c "$source" -o "$object"
    objects="$objects $object"
done
# shellcheck disable=SC2086
"$compiler" -static -fopenmp $objects -o "$build/tests" 2>/dev/null
# A test starts the program anew, which qemu alone cannot do.
qemu-aarch64-static "$build/tests" '~an instruction set that the machine lacks*'
