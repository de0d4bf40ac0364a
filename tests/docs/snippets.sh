#!/bin/sh
# snippets.sh DOCUMENT COMPILER FLAG...: compiles the C++ blocks of a document, all in one file and without making code.
#
# A block begins with ```cpp at the beginning of a line. It becomes the body of a function, which sees what prelude.hpp
# declares in `given`; its #include lines go to the top of the file. A block with a main() stays as it is. A comment on
# the line before a block changes that:
#   <!-- given: double* p; int lda; -->     declares something first, for this block only
#   <!-- declarations -->                   the block is declarations, such as a template; it becomes a namespace
# Blocks of the README see nothing of `given`: who copies one has all its names.
# Blocks that name CUDA, OpenCL, Eigen or std::mdspan are compiled only where the headers are; the output says so.
# Errors name the line of the document.
set -eu
export LC_ALL=C
document=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
[ -r "$document" ] || { echo "there is no $document"; exit 1; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

awk -v document="$document" -v whole="$(basename "$document" .md)" '
    function needs(text) {
        if (text ~ /cuda/) return "__has_include(<cuda.h>) && __has_include(<nvrtc.h>)"
        if (text ~ /opencl/) return "__has_include(<CL/cl.h>)"
        if (text ~ /Eigen::/) return "__has_include(<Eigen/Core>)"
        if (text ~ /std::mdspan/) return "__has_include(<mdspan>)"
        return "1"
    }
    function finish(    i, condition, body, includes) {
        ++blocks
        condition = needs(given text)
        for (i = 1; i <= lines; ++i)
            if (line[i] ~ /^#include/) { includes = includes line[i] "\n"; body = body "\n" }
            else body = body line[i] "\n"
        print "#if " condition
        printf "%s", includes
        if (text ~ /int main\(/) printf "#define main block_%d_main\n", blocks
        else if (declares) printf "namespace block_%d {\nusing namespace given;\n", blocks
        else printf "void block_%d() {\n%s%s\n{\n", blocks, whole == "README" ? "" : "using namespace given;\n", given
        printf "#line %d \"%s\"\n%s", start, document, body
        if (text ~ /int main\(/) print "#undef main"
        else print declares ? "}" : "}\n}"
        printf "#else\n#pragma message \"skipped: block %d, line %d: its headers are not here\"\n", blocks, start
        print "#endif"
    }
    BEGIN { print "#include \"prelude.hpp\"" }
    inside && /^```/ { inside = 0; finish(); given = ""; declares = 0; next }
    inside { line[++lines] = $0; text = text $0 "\n"; next }
    /^```cpp$/ { inside = 1; lines = 0; text = ""; start = FNR + 1; next }
    /^[[:space:]]+```cpp|^[[:space:]]*```(c\+\+|C\+\+|cxx|cc)/ {
        printf "#error \"%s:%d: say ```cpp at the beginning of a line: this block is not compiled\"\n", document, FNR
        ++blocks
    }
    /^<!-- given: .* -->$/ { given = substr($0, 13, length($0) - 16); next }
    /^<!-- declarations -->$/ { declares = 1; next }
    { given = ""; declares = 0 }
    END {
        if (inside) print "#error \"a block does not end\""
        printf "static_assert(true, \"%d blocks\");\n", blocks
        print blocks + 0 >"/dev/stderr"
    }' "$document" >"$out/blocks.cpp" 2>"$out/count"

[ "$(cat "$out/count")" != 0 ] || { echo "0 blocks" && exit; }

# Warnings are errors: readers copy what they see. What a block declares it need not use.
"$@" -std=c++20 -fsyntax-only -Wall -Wextra -Wno-unused -Wno-unused-result -I "$here" "$out/blocks.cpp"
echo "$(cat "$out/count") blocks"
