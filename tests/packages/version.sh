#!/bin/sh
# The version is that of project() in CMakeLists.txt. What reads no other file has it, too, and must say the same; no
# other file has it. Prints what is wrong.
set -eu
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^project(stratagemm VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
failed=0
same() {
    [ "$2" = "$version" ] || { echo "CMakeLists.txt says '$version', and $1 says '$2'" && failed=1; }
}
number() { sed -n "s/^#define STRATAGEMM_VERSION_$1 \([0-9]*\)$/\1/p" include/stratagemm/core/config.hpp; }
port=packaging/vcpkg/stratagemm/vcpkg.json
same include/stratagemm/core/config.hpp "$(number MAJOR).$(number MINOR).$(number PATCH)"
same $port "$(sed -n 's/^ *"version": "\(.*\)",$/\1/p' $port)"

# These read CMakeLists.txt.
for file in vcpkg.json conanfile.py pyproject.toml bindings/python/build_package.py dev; do
    if grep -nF "$version" "$file"; then echo "$file states the version by itself" && failed=1; fi
done
exit $failed
