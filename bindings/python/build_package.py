"""Builds the wheel and the source package, as pip asks for them (PEP 517). Needs CMake and a C++20 compiler, no
network, and no package of Python.

--config-settings build-dir=FOLDER keeps what CMake builds, or takes what it has built.
"""

import base64
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What of the repository a source package has.
SOURCES = ["CMakeLists.txt", "CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "bindings", "cmake",
           "docs/python.md", "examples/python", "include", "tests/bindings/python"]


def _project():
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    text = (ROOT / "CMakeLists.txt").read_text()
    project["version"] = re.search(r"^project\(stratagemm VERSION ([0-9.]+)", text, re.MULTILINE)[1]
    return project


def _stem():
    return f"stratagemm-{_project()['version']}"


def _metadata():
    project = _project()
    return (f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
            f"Summary: {project['description']}\nRequires-Python: {project['requires-python']}\n"
            "Description-Content-Type: text/markdown\n\n" + (ROOT / "docs/python.md").read_text())


def _tag():
    platform = re.sub("[^a-z0-9_]", "_", sysconfig.get_platform().lower())
    return f"cp311-abi3-{platform}"


def _build(folder):
    """Builds the module in a folder of CMake's and returns that of the package."""
    if not (folder / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DSTRATAGEMM_PYTHON=ON", "-DSTRATAGEMM_TESTS=OFF",
                        "-DSTRATAGEMM_EXAMPLES=OFF", f"-DPython3_EXECUTABLE={sys.executable}"], check=True)
    jobs = os.environ.get("JOBS", str(os.cpu_count()))
    subprocess.run(["cmake", "--build", folder, "--target", "stratagemm-python", "--parallel", jobs], check=True)
    return folder / "bindings/python/package"


def _record(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def _write_wheel(path, package):
    about = f"{_stem()}.dist-info"
    files = [(f"stratagemm/{file.name}", file.read_bytes()) for file in sorted((package / "stratagemm").iterdir())
             if file.is_file()]
    wheel = f"Wheel-Version: 1.0\nGenerator: build_package\nRoot-Is-Purelib: false\nTag: {_tag()}\n"
    files += [(f"{about}/METADATA", _metadata().encode()), (f"{about}/WHEEL", wheel.encode()),
              (f"{about}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())]
    record = "".join(_record(*file) for file in files) + f"{about}/RECORD,,\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in [*files, (f"{about}/RECORD", record.encode())]:
            entry = zipfile.ZipInfo(name)  # of 1980: the same files make the same wheel
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"{_stem()}-{_tag()}.whl"
    kept = (config_settings or {}).get("build-dir")
    if kept:
        _write_wheel(Path(wheel_directory) / name, _build(Path(kept)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            _write_wheel(Path(wheel_directory) / name, _build(Path(folder)))
    return name


def _sources():
    for part in SOURCES:
        path = ROOT / part
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in files if file.is_file() and "__pycache__" not in file.parts)


def build_sdist(sdist_directory, config_settings=None):
    name = f"{_stem()}.tar.gz"
    with tarfile.open(Path(sdist_directory) / name, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        def add(path, data):
            entry = tarfile.TarInfo(f"{_stem()}/{path}")
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
        add("PKG-INFO", _metadata().encode())
        for file in _sources():
            add(file.relative_to(ROOT).as_posix(), file.read_bytes())
    return name


def get_requires_for_build_wheel(config_settings=None):
    return [] if shutil.which("cmake") else ["cmake"]
