#!/bin/sh
# run.sh COMPILER INCLUDE FILE: passes when FILE does not compile, the messages hold the text after
# `// expect: ` in its first line, and there is exactly one error: a user reads one line, not a page.
set -u
compiler=$1 include=$2 file=$3

expected=$(sed -n '1s|^// expect: ||p' "$file")
[ -n "$expected" ] || { echo "$file: the first line must be: // expect: TEXT"; exit 1; }

if messages=$(LC_ALL=C "$compiler" -std=c++20 -fsyntax-only -I "$include" "$file" 2>&1); then
    echo "it compiles, and should not"
    exit 1
fi
errors=$(printf '%s\n' "$messages" | grep -c 'error:')
if printf '%s\n' "$messages" | grep -qF -e "$expected" && [ "$errors" -eq 1 ]; then
    exit 0
fi
printf '%s\n\nexpected one error with the text: %s\nerrors: %s\n' "$messages" "$expected" "$errors"
exit 1
