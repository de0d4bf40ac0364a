#!/bin/sh
# numpy.sh LIBRARY FOLDER: NumPy, if it is installed, over the preloaded library and over the libblas.so.3 in FOLDER.
# Its own tests of linear algebra run, too, where pytest is installed. PYTHON names an interpreter.
set -eu
library=$1 folder=${2:-}
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "skipped: no Python here" && exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
over() {
    env "$1" "$python" "$here/numpy_products.py"
    if "$python" -c 'import pytest, hypothesis' 2>/dev/null; then
        env "$1" "$python" -m pytest -q -x --pyargs numpy.linalg -p no:cacheprovider
    fi
}
over "LD_PRELOAD=$library"
[ -z "$folder" ] || over "LD_LIBRARY_PATH=$folder"
