#!/bin/sh
# The names of the cases of the benchmark programs, in bench/cases, so that a filter is checked before anything is built.
#   bench/cases.sh NAME FILTER            whether FILTER matches one; if not, it lists all
#   bench/cases.sh --renew NAME PROGRAM [OPTION...]   asks a program that was built, and writes what it says
set -eu
folder=$(cd "$(dirname "$0")" && pwd)/cases

if [ "$1" = --renew ]; then
    file=$folder/$2.txt
    shift 2
    names=$("$@" --benchmark_list_tests)
    if [ "$names" != "$(cat "$file")" ]; then
        printf '%s\n' "$names" >"$file"
        echo "== $file is new: commit it" >&2
    fi
    exit
fi

file=$folder/$1.txt
# A label as the tables print it, "sgemm 512, packed", is the name sgemm/512_packed.
filter=$(printf '%s' "$2" | sed 's/, / /g; s/ /[\/_]/g')
result=0
grep -qE -e "$filter" "$file" 2>/dev/null || result=$? # the syntax of Google Benchmark
case $result in
0) exit ;;
1)
    echo "no case of $1 matches '$2'. The cases:"
    cat "$file"
    ;;
*) echo "the filter '$2' is no regular expression" ;;
esac >&2
exit 1
