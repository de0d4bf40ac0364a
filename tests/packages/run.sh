#!/bin/sh
# run.sh KIND COMPILER CMAKE GENERATOR BUILD: makes a package of this checkout, as docs/install.md says and without a
# network, installs it into a folder of its own, and builds and runs programs with it.
#   debian    Debian packages by CPack of what BUILD has, installed by dpkg
#   conan     a package of Conan 2. CONAN names the client; ./dev installs one into build/tools
#   vcpkg     the overlay port, by vcpkg on the path or in VCPKG_ROOT; where there is none, its script runs with
#             functions that do what vcpkg's do (vcpkg_stand_in.cmake)
set -eu
kind=$1 compiler=$2 cmake=$3 generator=$4 build=$5
root=$(cd "$(dirname "$0")/../.." && pwd)
version=$(sed -n 's/^project(stratagemm VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# quietly COMMAND...   what the command says is for those who look for a failure.
quietly() { "$@" >"$tmp/said" 2>&1 || { cat "$tmp/said" && exit 1; }; }
# documented COMMAND...   docs/install.md has the command as a line.
documented() { grep -qxF -e "$*" "$root/docs/install.md" || { echo "docs/install.md has no line: $*" && exit 1; }; }
# consumer PROJECT DEFINITION...   configures and builds a project of tests/consumer, and runs what comes out.
consumer() {
    project=$1
    shift
    quietly "$cmake" -S "$root/tests/consumer/$project" -B "$tmp/$project" -G "$generator" \
        -DCMAKE_CXX_COMPILER="$compiler" "$@"
    quietly "$cmake" --build "$tmp/$project"
    "$tmp/$project/consumer"
}

# A program that takes dgemm_ from whoever has it, with the library preloaded that a package put into a root.
preloaded() {
    cat >"$tmp/product.cpp" <<'TEXT'
#include <dlfcn.h>
int main() {
    using gemm = void(char const*, char const*, int const*, int const*, int const*, double const*, double const*,
                      int const*, double const*, int const*, double const*, double*, int const*);
    auto* const dgemm = reinterpret_cast<gemm*>(dlsym(RTLD_DEFAULT, "dgemm_"));
    double const a[] = {1, 2, 3, 4}, one = 1, zero = 0;
    double c[4];
    int const n = 2;
    if (!dgemm) return 1;
    dgemm("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
    return !(c[0] == 7 && c[1] == 10 && c[2] == 15 && c[3] == 22);
}
TEXT
    "$compiler" -std=c++20 "$tmp/product.cpp" -o "$tmp/product" -ldl
    LD_PRELOAD=$(find "$1/usr/lib" -name libstratagemm-blas.so) STRATAGEMM_BLAS_REPORT=1 "$tmp/product" 2>"$tmp/report"
    grep -q '^dgemm_ *1 ' "$tmp/report"
}

make_debian() {
    for tool in cpack dpkg dpkg-deb dpkg-shlibdeps; do
        command -v "$tool" >/dev/null || { echo "skipped: no $tool here (Debian: cmake, dpkg-dev)" && exit 77; }
    done
    documented ./dev package
    components=dev
    [ ! -e "$build/bindings/blas/libstratagemm-blas.so" ] || components='dev;blas'
    # What the build has is enough: with the generators that CMake calls make, CPack would build all of it first.
    quietly cpack --config "$build/CPackConfig.cmake" -B "$tmp/made" -D CPACK_CMAKE_GENERATOR=Ninja \
        -D CPACK_COMPONENTS_ALL="$components"
    [ "$(dpkg-deb --field "$tmp/made/libstratagemm-dev_${version}_all.deb" Version Architecture | tr '\n' ' ')" = \
        "Version: $version Architecture: all " ]

    # There is no other package in the root: neither what libraries depend on, nor the ldconfig that they would call.
    mkdir -p "$tmp/root/var/lib/dpkg/info" "$tmp/root/var/lib/dpkg/updates"
    : >"$tmp/root/var/lib/dpkg/status"
    set -- --root="$tmp/root" --log="$tmp/log" --force-not-root --force-bad-path
    quietly dpkg "$@" --unpack "$tmp"/made/*.deb
    quietly dpkg "$@" --configure libstratagemm-dev
    consumer find_package -DCMAKE_PREFIX_PATH="$tmp/root/usr"
    if [ "$components" != dev ]; then
        dpkg-deb --field "$tmp"/made/libstratagemm-blas_*.deb Depends | grep -q 'libc6 .*libstdc++6'
        preloaded "$tmp/root"
    fi
    quietly dpkg "$@" --remove libstratagemm-dev
    [ ! -e "$tmp/root/usr/include/stratagemm" ]
}

make_conan() {
    for name in "${CONAN:-conan}" "$root/build/tools/conan/bin/conan"; do
        case $("$name" --version 2>/dev/null) in *' 2.'*) client=$(command -v "$name") ;; esac
    done
    [ -n "${client:-}" ] || { echo "skipped: no Conan 2 here (pip install conan)" && exit 77; }
    export CONAN_HOME="$tmp/home" CXX="$compiler" CMAKE_GENERATOR="$generator"
    quietly "$client" profile detect
    quietly "$client" remote remove '*'
    cd "$root"
    documented conan create . -s compiler.cppstd=20
    quietly "$client" create . -s compiler.cppstd=20

    mkdir "$tmp/project" "$tmp/other"
    cd "$tmp/project"
    awk '/^```ini/ { inside = 1; next } /^```/ { inside = 0 } inside' "$root/docs/install.md" >conanfile.txt
    documented conan install . -s compiler.cppstd=20 --output-folder=build
    quietly "$client" install . -s compiler.cppstd=20 --output-folder=build
    consumer find_package -DCMAKE_TOOLCHAIN_FILE="$PWD/build/conan_toolchain.cmake" -DCMAKE_BUILD_TYPE=Release

    # stratagemm::kernels. What is compiled without optimization is linked in the same way, and is there sooner.
    cd "$tmp/other"
    set -- -s compiler.cppstd=20 -s build_type=Debug -c 'tools.build:cxxflags=["-g0"]'
    quietly "$client" create "$root" "$@" -o '&:kernels=True'
    quietly "$client" install --requires="stratagemm/$version" "$@" -o 'stratagemm/*:kernels=True' -g CMakeDeps \
        -g CMakeToolchain --output-folder=build
    consumer kernels -DCMAKE_TOOLCHAIN_FILE="$PWD/build/conan_toolchain.cmake" -DCMAKE_BUILD_TYPE=Debug
}

make_vcpkg() {
    cd "$root"
    documented vcpkg install stratagemm --classic --overlay-ports=packaging/vcpkg
    for name in vcpkg "${VCPKG_ROOT:-/none}/vcpkg"; do
        client=$(command -v "$name") || continue
        quietly "$client" install stratagemm --classic --overlay-ports=packaging/vcpkg --x-install-root="$tmp/installed"
        consumer find_package -DCMAKE_PREFIX_PATH="$(echo "$tmp"/installed/*-*)"
        return 0
    done
    echo "no vcpkg here: functions that stand in for vcpkg's run the port's script"
    for way in core kernels; do
        features=core
        [ $way = core ] || features='core;kernels'
        quietly "$cmake" -DPORT="$root/packaging/vcpkg/stratagemm" -DTO="$tmp/$way" -DFEATURES="$features" \
            -DGENERATOR="$generator" -DCOMPILER="$compiler" -P "$root/tests/packages/vcpkg_stand_in.cmake"
        for file in copyright usage stratagemm-config.cmake stratagemm-config-version.cmake; do
            [ -f "$tmp/$way/installed/share/stratagemm/$file" ] || { echo "the port installs no $file" && exit 1; }
        done
        [ ! -e "$tmp/$way/installed/debug/include" ] && [ ! -e "$tmp/$way/installed/debug/share" ]
    done
    [ ! -e "$tmp/core/installed/lib" ] && [ -f "$tmp/kernels/installed/lib/libstratagemm_kernels.a" ]
    consumer find_package -DCMAKE_PREFIX_PATH="$tmp/core/installed"
}

case $kind in
debian | conan | vcpkg) "make_$kind" ;;
*) echo "unknown kind of package: $kind" && exit 1 ;;
esac
