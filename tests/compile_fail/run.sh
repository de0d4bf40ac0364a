#!/bin/sh
# run.sh COMPILER INCLUDE FILE [FLAG...]: passes when FILE does not compile, the messages hold the text after
# `// expect: ` in its first line, there is exactly one error, and no more than 40 lines in all: a user reads one line, not
# a page. Lines after the first may be `// flags: `, with flags of the compiler, and `// and: `, with what the messages hold,
# too, once namespaces and spaces before & are taken out. The missing file by which config.hpp ends a compilation is no
# error of its own, nor is what g++ says before it says which constructor there is not.
set -u
compiler=$1 include=$2 file=$3
shift 3

expected=$(sed -n '1s|^// expect: ||p' "$file")
[ -n "$expected" ] || { echo "$file: the first line must be: // expect: TEXT"; exit 1; }

flags=$(sed -n 's|^// flags: ||p' "$file")
# FLAG... say where stratagemm.hpp is, precompiled: for files that begin with it, and have no flags of their own.
first=$(sed -n '/^#include/{p;q}' "$file")
if [ -n "$flags" ] || [ "$first" != '#include <stratagemm/stratagemm.hpp>' ]; then set --; fi

# shellcheck disable=SC2086
if messages=$(LC_ALL=C "$compiler" -std=c++20 $flags "$@" -fsyntax-only -I "$include" "$file" 2>&1); then
    echo "it compiles, and should not"
    exit 1
fi
problems=
errors=$(printf '%s\n' "$messages" | grep -v 'fatal error: .*compile_with_std_cxx20' |
    grep -v 'error: class template argument deduction failed:' | grep -c 'error:')
[ "$errors" -eq 1 ] || problems="$errors errors"
lines=$(printf '%s\n' "$messages" | wc -l)
[ "$lines" -le 40 ] || problems="$problems; $lines lines"
printf '%s\n' "$messages" | grep -qF -e "$expected" || problems="$problems; not said: $expected"
plain=$(printf '%s\n' "$messages" | sed -E 's/stratagemm:://g; s/v[0-9]+_[0-9]+_[a-z]+:://g; s/ &/\&/g')
also=$(sed -n 's|^// and: ||p' "$file")
while IFS= read -r text; do
    printf '%s\n' "$plain" | grep -qF -e "$text" || problems="$problems; not said: $text"
done <<END
$also
END
[ -n "$problems" ] || exit 0
printf '%s\n\nexpected one error of at most 40 lines; %s\n' "$messages" "${problems#; }"
exit 1
