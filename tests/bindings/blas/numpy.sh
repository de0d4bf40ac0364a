#!/bin/sh
# numpy.sh LIBRARY FOLDER: NumPy, if it is installed, over the preloaded library and over the libblas.so.3 in FOLDER.
# PYTHON names an interpreter; BLAS_SUITES names suites that pytest runs as well, which takes minutes, such as
# 'numpy.linalg scipy.linalg': what fails has to fail without the library, too. A wheel of NumPy or SciPy brings a BLAS
# along and takes nothing from FOLDER; Debian's packages do.
set -eu
library=$1 folder=${2:-}
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "skipped: no Python here" && exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# suites NAME [VARIABLE=VALUE]: the tests that fail, one a line, in $place/NAME.
suites() {
    name=$1
    shift
    # shellcheck disable=SC2086
    env "$@" "$python" -m pytest -q -rfE -p no:cacheprovider --pyargs $BLAS_SUITES >"$place/said" 2>&1 || true
    tail -n 1 "$place/said"
    grep -qE '[0-9]+ passed' "$place/said" || { cat "$place/said" && exit 1; }
    sed -nE 's/^(FAILED|ERROR) ([^ ]*).*/\2/p' "$place/said" | sort >"$place/$name"
}
over() {
    env "$1" "$python" "$here/numpy_products.py"
    if [ -z "${BLAS_SUITES:-}" ]; then return; fi
    suites over "$1"
    if [ ! -s "$place/over" ]; then return; fi
    [ -e "$place/without" ] || suites without
    comm -23 "$place/over" "$place/without" >"$place/ours"
    if [ -s "$place/ours" ]; then
        echo "$1: these tests fail, and pass without it"
        cat "$place/ours"
        exit 1
    fi
}
over "LD_PRELOAD=$library"
[ -z "$folder" ] || over "LD_LIBRARY_PATH=$folder"
