#!/bin/sh
# numpy.sh LIBRARY FOLDER: NumPy, if it is installed, over the preloaded library and over the libblas.so.3 in FOLDER.
# PYTHON names an interpreter; BLAS_SUITES names suites that pytest runs as well, which takes minutes, such as
# 'numpy.linalg scipy.linalg'.
set -eu
library=$1 folder=${2:-}
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "skipped: no Python here" && exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
over() {
    env "$1" "$python" "$here/numpy_products.py"
    # shellcheck disable=SC2086
    [ -z "${BLAS_SUITES:-}" ] || env "$1" "$python" -m pytest -q -x -p no:cacheprovider --pyargs $BLAS_SUITES
}
over "LD_PRELOAD=$library"
[ -z "$folder" ] || over "LD_LIBRARY_PATH=$folder"
