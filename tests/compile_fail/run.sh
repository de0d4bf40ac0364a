#!/bin/sh
# run.sh COMPILER INCLUDE FILE: passes when FILE does not compile, the messages hold the text after
# `// expect: ` in its first line, and there is exactly one error: a user reads one line, not a page. A second line
# `// flags: ` has flags of the compiler. The missing file by which config.hpp ends a compilation is no error of its own.
set -u
compiler=$1 include=$2 file=$3

expected=$(sed -n '1s|^// expect: ||p' "$file")
[ -n "$expected" ] || { echo "$file: the first line must be: // expect: TEXT"; exit 1; }

flags=$(sed -n '2s|^// flags: ||p' "$file")

# shellcheck disable=SC2086
if messages=$(LC_ALL=C "$compiler" -std=c++20 $flags -fsyntax-only -I "$include" "$file" 2>&1); then
    echo "it compiles, and should not"
    exit 1
fi
errors=$(printf '%s\n' "$messages" | grep -v 'fatal error: .*compile_with_std_cxx20' | grep -c 'error:')
if printf '%s\n' "$messages" | grep -qF -e "$expected" && [ "$errors" -eq 1 ]; then
    exit 0
fi
printf '%s\n\nexpected one error with the text: %s\nerrors: %s\n' "$messages" "$expected" "$errors"
exit 1
