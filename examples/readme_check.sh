#!/bin/sh
# The first C++ block of the README is examples/hello.cpp, to the letter, and the README is short: at most 200 lines and
# 1800 words. Prints what is wrong, if something is.
set -eu
cd "$(dirname "$0")/.."

awk '/^```cpp$/ { inside = 1; next } inside && /^```$/ { exit } inside' README.md | diff - examples/hello.cpp

lines=$(wc -l <README.md)
words=$(wc -w <README.md)
if [ "$lines" -gt 200 ] || [ "$words" -gt 1800 ]; then
    echo "README.md has $lines lines and $words words; the rest belongs in docs/"
    exit 1
fi
