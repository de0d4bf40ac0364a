#!/bin/sh
# torch.sh PACKAGE EXAMPLE: the example for torch.distributed, by an interpreter that has torch, with the package stratagemm
# in the folder PACKAGE: by processes that it starts itself, by those of torchrun, and with one that is killed. PYTHON names
# an interpreter. Exits with 77 where none has torch. Prints what is wrong.
set -u
package=$(dirname "$1") example=$2 python=
for one in "${PYTHON:-}" python3 /usr/bin/python3; do
    [ -n "$one" ] && command -v "$one" >/dev/null || continue
    "$one" -c 'import sys, torch.distributed as d; sys.exit(sys.version_info < (3, 11) or not d.is_gloo_available())' \
        2>/dev/null && python=$one && break
done
[ -n "$python" ] || { echo "skipped: no Python 3.11 with torch here" && exit 77; }
export PYTHONPATH="$package" PYTHONDONTWRITEBYTECODE=1 GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

timeout 300 "$python" "$example" || exit 1
timeout 100 "$python" -m torch.distributed.run --standalone --nproc-per-node 2 "$example" 301 203 7 || exit 1

# One process is killed while all multiply: the others end, too.
"$python" "$example" 14336 4096 1024 3 >"$place/said" 2>&1 &
started=$!
until grep -q '^A has' "$place/said" || ! kill -0 $started 2>/dev/null; do sleep 0.1; done
processes=$(pgrep -P $started -f spawn_main)
# shellcheck disable=SC2086
set -- $processes
[ $# -eq 3 ] || { cat "$place/said" && echo "there are $# processes, and not three" && exit 1; }
kill -KILL "$2"
wait $started && echo "a process was killed, and the example ends as if it had not been" && exit 1
grep -q 'terminated with signal SIGKILL' "$place/said" ||
    { cat "$place/said" && echo "this does not say that a process was killed" && exit 1; }
for process; do
    # Where nobody takes note that a process ended, it stays as a zombie.
    case $(cut -d ' ' -f 3 "/proc/$process/stat" 2>/dev/null) in '' | Z) ;; *) echo "a process still runs" && exit 1 ;; esac
done
