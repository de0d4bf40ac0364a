#!/bin/sh
# failures.sh PROGRAM LIBRARY WRONG: what examples/cluster/pdgemm does on three processes over the LIBRARY when one of them
# is killed in the middle, when its file cannot be written, and over WRONG, a library that multiplies wrongly. All processes
# end, a message says why, and the file does not have its name. Prints what is wrong.
set -u
program=$1 library=$2 multiplies_wrongly=$3 folder=
. "$(dirname "$0")/forms.sh"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# starts LIBRARY ARGUMENTS...   in the background; what it prints goes to the file `said`.
starts() {
    preloaded=$1
    shift
    echo "an earlier result" >"$place/c.npy"
    : >"$place/said"
    timeout 100 "$mpirun" --oversubscribe --bind-to none -np 3 -x "LD_PRELOAD=$preloaded" "$program" "$@" >"$place/said" 2>&1 &
    started=$!
}
# fails TEXT   what was started ends with an error and the text, and there is no result, nor an earlier one.
fails() {
    wait $started
    result=$?
    said=$(cat "$place/said")
    case $result in 0 | 124) wrong "mpirun ends with $result" ;; esac
    grep -q "$1" "$place/said" || wrong "it does not say: $1"
    [ ! -e "$place/c.npy" ] || wrong "there is a file after: $1"
}

starts "$library" 501 64 1000000 "$place/c.npy"
until grep -q '^round 2' "$place/said" || ! kill -0 $started 2>/dev/null; do sleep 0.05; done
processes=$(pgrep -f "^$program 501 64 1000000 $place/c.npy")
# shellcheck disable=SC2086
set -- $processes
[ $# -eq 3 ] || { cat "$place/said" && echo "there are $# processes, and not three" && exit 1; }
kill -KILL "$2"
fails 'exited on signal 9 (Killed)'
# Where nobody takes note that a process ended, it stays as a zombie.
runs() { case $(cut -d ' ' -f 3 "/proc/$1/stat" 2>/dev/null) in '' | Z) return 1 ;; esac }
for process; do
    rest=100 # mpirun may end a moment before the others do
    while runs "$process" && [ $rest -gt 0 ]; do sleep 0.1 && rest=$((rest - 1)); done
    [ $rest -gt 0 ] || wrong "process $process goes on"
done

starts "$multiplies_wrongly" 300 64 1 "$place/c.npy"
fails '^WRONG: '

starts "$library" 300 64 1 "$place/none/c.npy"
rm "$place/c.npy"
fails 'none/c.npy.unfinished: cannot be opened'
exit $failed
