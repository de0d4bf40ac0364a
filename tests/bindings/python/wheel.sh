#!/bin/sh
# wheel.sh ROOT BUILD: builds a wheel and a source package, as pip asks for them, with what CMake built in BUILD,
# installs the wheel into a fresh environment, and runs a test there. Nothing is downloaded.
set -eu
root=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for python in "${PYTHON:-}" python3 /usr/bin/python3; do
    [ -n "$python" ] && command -v "$python" >/dev/null || continue
    "$python" -c 'import sys, numpy, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
    break
done
"$python" -c 'import numpy, ensurepip' 2>/dev/null ||
    { echo "skipped: no Python 3.11 with NumPy and venv here (Debian: python3-numpy python3-venv)" && exit 77; }

cd "$root/bindings/python"
BUILD=$build FOLDER=$folder PYTHONDONTWRITEBYTECODE=1 "$python" -c '
import build_package, os, tarfile
folder = os.environ["FOLDER"]
print(build_package.build_wheel(folder, {"build-dir": os.environ["BUILD"]}))
name = build_package.build_sdist(folder)
names = tarfile.open(f"{folder}/{name}").getnames()
stem = name.removesuffix(".tar.gz")
for needed in ["PKG-INFO", "pyproject.toml", "CMakeLists.txt", "cmake/kernels.cpp", "bindings/policies.cpp",
               "bindings/python/build_package.py", "include/stratagemm/stratagemm.hpp"]:
    assert f"{stem}/{needed}" in names, needed
assert not any(n.endswith((".pyc", ".o", ".so")) for n in names)' >"$folder/said"
grep -q 'stratagemm-.*-cp311-abi3-.*\.whl' "$folder/said"

# What a wheel of manylinux may be linked with, and so no runtime of OpenMP.
"$python" -m zipfile -e "$folder"/*.whl "$folder/unpacked"
if command -v readelf >/dev/null; then
    readelf -d "$folder/unpacked/stratagemm/_core.abi3.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -vE '^(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|ld-linux-.*)\.so\.[0-9]$' &&
        { echo "the module is linked with more than manylinux has" && exit 1; }
fi
# auditwheel, where it is installed, names the tag.
if "$python" -c 'import auditwheel' 2>/dev/null; then
    "$python" -m auditwheel show "$folder"/*.whl | grep -q '"manylinux_[0-9_]*_[a-z0-9_]*"' ||
        { echo "auditwheel names no tag of manylinux" && exit 1; }
fi

# A pip for the environment takes longer to install than all the rest.
cd "$folder"
if "$python" -m pip --python "$python" --version >/dev/null 2>&1; then
    "$python" -m venv --system-site-packages --without-pip venv
    pip() { "$python" -m pip --python venv/bin/python "$@"; }
else
    "$python" -m venv --system-site-packages venv
    pip() { venv/bin/python -m pip "$@"; }
fi
pip install --quiet --no-index --no-deps --disable-pip-version-check ./*.whl
venv/bin/python -c 'import stratagemm, sys; sys.exit(not stratagemm.__file__.startswith(sys.prefix))'
OMP_NUM_THREADS=2 venv/bin/python "$root/tests/bindings/python/test_gemm.py" >said 2>&1 || { cat said && exit 1; }
OMP_NUM_THREADS=2 venv/bin/python "$root/examples/python/low_rank.py" picture.svg >said 2>&1 || { cat said && exit 1; }
[ -s picture.svg ]
pip show --files stratagemm | grep -q 'stratagemm/py.typed'
