#!/bin/sh
# The names of the cases of the benchmark programs, in bench/cases, so that a filter is checked before anything is built.
#   bench/cases.sh NAME FILTER            whether FILTER matches one; if not, it lists all
#   bench/cases.sh --renew NAME PROGRAM [OPTION...]   asks a program that was built, and writes what it says
# A line is a name and, for some, the word that a filter must have in it for the case to run.
set -eu
folder=$(cd "$(dirname "$0")" && pwd)/cases

if [ "$1" = --renew ]; then
    file=$folder/$2.txt
    shift 2
    names=$("$@" --names --threads=1,2 | sed 's/ *$//')
    if [ "$names" != "$(cat "$file")" ]; then
        printf '%s\n' "$names" >"$file"
        echo "== $file is new: commit it" >&2
    fi
    exit
fi

file=$folder/$1.txt
# A label as the tables print it, "sgemm 512, packed", is the name sgemm/512_packed.
filter=$(printf '%s' "$2" | sed 's/, / /g; s/ /[\/_]/g')
syntax=-E
if echo | grep -qP '' 2>/dev/null; then syntax=-P; fi # nearer to that of the programs
result=0
awk -v filter="$filter" '$2 == "" || index(filter, $2) { print $1 }' "$file" | grep -q $syntax -e "$filter" 2>/dev/null ||
    result=$?
case $result in
0) exit ;;
1)
    echo "no case of $1 matches '$2'. The cases:"
    awk '{ print $1 ($2 == "" ? "" : ", for filters with the word " $2) }' "$file"
    ;;
*) echo "the filter '$2' is no regular expression" ;;
esac >&2
exit 1
