#!/bin/sh
# run.sh PACKAGE SCRIPT ARGUMENTS...: runs a script in Python with the package stratagemm in the folder PACKAGE. PYTHON
# names an interpreter; otherwise the first takes part that has NumPy.
set -eu
package=$(dirname "$1")
shift
for python in "${PYTHON:-}" python3 /usr/bin/python3; do
    [ -n "$python" ] && command -v "$python" >/dev/null || continue
    "$python" -c 'import sys, numpy; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
    PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 exec "$python" "$@"
done
echo "skipped: no Python 3.11 with NumPy here (Debian: python3-numpy)"
exit 77
