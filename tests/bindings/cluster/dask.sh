#!/bin/sh
# dask.sh PACKAGE EXAMPLE: the example for Dask, by an interpreter that has distributed, with the package stratagemm in the
# folder PACKAGE. PYTHON names an interpreter. Exits with 77 where none has it. Prints what is wrong.
set -u
package=$(dirname "$1") example=$2
for python in "${PYTHON:-}" python3 /usr/bin/python3; do
    [ -n "$python" ] && command -v "$python" >/dev/null || continue
    "$python" -c 'import sys, dask.array, distributed; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
    place=$(mktemp -d)
    trap 'rm -rf "$place"' EXIT
    DASK_TEMPORARY_DIRECTORY=$place PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 timeout 300 "$python" "$example"
    exit
done
echo "skipped: no Python 3.11 with Dask here (Debian: python3-distributed)"
exit 77
