#!/bin/sh
# table.sh COMPILER FLAG...: each row of the tables of policies, operands, backends and element types, in the README and in
# docs/reference.md, is what table.cpp prints, and there are no other rows. Needs the headers of OpenCL and CUDA.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for header in CL/cl.h cuda.h nvrtc.h; do
    echo "#include <$header>" | "$@" -fsyntax-only -x c++ - 2>/dev/null || {
        echo "skipped: no $header here"
        exit 77
    }
done
"$@" -std=c++20 -O0 -w -I "$here" "$here/table.cpp" -o "$out/table"
"$out/table" >"$out/expected"
for page in README.md docs/reference.md; do
    awk '/^\| \| float \|/ { inside = 1; next } !/^\|/ { inside = 0 } inside && !/^\| ---/' "$here/../../$page"
done | diff - "$out/expected"
