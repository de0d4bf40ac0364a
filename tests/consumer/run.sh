#!/bin/sh
# run.sh WAY COMPILER CMAKE GENERATOR BUILD: takes the library into a program of its own and runs it.
#   installed     cmake --install into an empty prefix, then find_package
#   pkg_config    cmake --install, then pkg-config and one compiler command
#   subdirectory  add_subdirectory
#   copied        include/ alone, and one compiler command
#   mixed         two translation units, one with OpenMP and one without, in one program
#   bare          without exceptions and without run-time type information, also beside a translation unit with both
#   fast_math     with -ffast-math, for any machine and for this one
#   unloaded      two shared libraries, one of which is closed while the other multiplies
#   kernels       stratagemm::kernels, built and installed; also beside a translation unit that takes the headers alone
set -eu
way=$1 compiler=$2 cmake=$3 generator=$4 build=$5
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# program PROJECT DEFINITION: configures and builds a consumer project, and runs what comes out.
program() {
    "$cmake" -S "$here/$1" -B "$tmp/build" -G "$generator" -DCMAKE_CXX_COMPILER="$compiler" "$2"
    "$cmake" --build "$tmp/build"
    "$tmp/build/consumer"
}

case $way in
installed)
    "$cmake" --install "$build" --prefix "$tmp/prefix" >"$tmp/log" || { cat "$tmp/log"; exit 1; }
    program find_package -DCMAKE_PREFIX_PATH="$tmp/prefix"
    ;;
pkg_config)
    command -v pkg-config >/dev/null || { echo "skipped: no pkg-config here"; exit 77; }
    "$cmake" --install "$build" --prefix "$tmp/prefix" >"$tmp/log" || { cat "$tmp/log"; exit 1; }
    export PKG_CONFIG_PATH="$tmp/prefix/share/pkgconfig"
    pkg-config --exact-version "$(sed -n 's/^project(stratagemm VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")" stratagemm
    # shellcheck disable=SC2046
    "$compiler" -std=c++20 -O2 $(pkg-config --cflags stratagemm) "$here/main.cpp" -o "$tmp/consumer"
    "$tmp/consumer"
    ;;
subdirectory)
    program subdirectory -DSTRATAGEMM_ROOT="$root"
    ;;
copied)
    cp -R "$root/include" "$tmp/include"
    "$compiler" -std=c++20 -O2 -I "$tmp/include" "$here/main.cpp" -o "$tmp/consumer"
    "$tmp/consumer"
    ;;
mixed)
    flags="-std=c++20 -O2 -I$root/include"
    echo 'int main() {}' >"$tmp/probe.cpp"
    "$compiler" -fopenmp "$tmp/probe.cpp" -o "$tmp/probe" 2>/dev/null ||
        { echo "skipped: the compiler has no OpenMP here"; exit 77; }
    # shellcheck disable=SC2086
    {
        "$compiler" $flags -fopenmp -c "$here/mixed_main.cpp" -o "$tmp/with.o"
        "$compiler" $flags -c "$here/mixed_other.cpp" -o "$tmp/without.o"
    }
    # Of an inline function defined in both the linker keeps the first: both orders must be right.
    "$compiler" -fopenmp "$tmp/with.o" "$tmp/without.o" -o "$tmp/one" && "$tmp/one"
    "$compiler" -fopenmp "$tmp/without.o" "$tmp/with.o" -o "$tmp/other" && "$tmp/other"
    ;;
bare)
    bare="-std=c++20 -O1 -fno-exceptions -fno-rtti -I$root/include"
    echo 'int other() { return 0; }' >"$tmp/alone.cpp"
    # shellcheck disable=SC2086
    for one in $(command -v clang++ || true) "$compiler"; do
        "$one" $bare -Wall -Wextra -c "$here/bare.cpp" -o "$tmp/bare.o"
        "$one" $bare "$tmp/bare.o" "$tmp/alone.cpp" -o "$tmp/bare"
        "$tmp/bare"
        if "$tmp/bare" end 2>"$tmp/said"; then
            echo "gemm of wrong shapes came back"
            exit 1
        fi
        grep -q 'C = A B needs m x k, k x n and m x n' "$tmp/said" || { cat "$tmp/said"; exit 1; }
    done
    # Of an inline function defined in both the linker keeps the first: gemm throws in one and ends the program in the
    # other, in both orders. bare.o is the compiler's own, the last above.
    "$compiler" -std=c++20 -O1 -I "$root/include" -c "$here/bare_other.cpp" -o "$tmp/other.o"
    "$compiler" "$tmp/bare.o" "$tmp/other.o" -o "$tmp/one"
    "$tmp/one"
    "$compiler" "$tmp/other.o" "$tmp/bare.o" -o "$tmp/other"
    "$tmp/other"
    ;;
fast_math)
    flags="-std=c++20 -Wall -Wextra -Werror -I$root/include -I$root/tests"
    # shellcheck disable=SC2086
    "$compiler" $flags -O3 -ffast-math "$here/fast_math.cpp" -o "$tmp/fast"
    "$tmp/fast"
    # The compiler fuses multiplications and additions here; a second compiler does so in its own way.
    grep -qw fma /proc/cpuinfo 2>/dev/null || exit 0
    # shellcheck disable=SC2086
    for one in "$compiler" $(command -v clang++ || true); do
        "$one" $flags -O2 -ffast-math -march=native "$here/fast_math.cpp" -o "$tmp/fast"
        "$tmp/fast"
    done
    ;;
unloaded)
    openmp=
    echo 'int main() {}' >"$tmp/probe.cpp"
    ! "$compiler" -fopenmp "$tmp/probe.cpp" -o "$tmp/probe" 2>/dev/null || openmp=-fopenmp
    # shellcheck disable=SC2086
    for one in "$compiler" $(command -v clang++ || true); do
        "$one" -std=c++20 -O1 -fPIC -shared $openmp -I "$root/include" "$here/unloaded_library.cpp" -o "$tmp/first.so"
        cp "$tmp/first.so" "$tmp/second.so"
        "$one" -std=c++20 -O1 "$here/unloaded_main.cpp" -o "$tmp/consumer" -ldl -pthread $openmp
        "$tmp/consumer" "$tmp/first.so" "$tmp/second.so"
    done
    ;;
kernels)
    "$cmake" -S "$root" -B "$tmp/library" -G "$generator" -DCMAKE_CXX_COMPILER="$compiler" \
        -DSTRATAGEMM_KERNELS=ON -DSTRATAGEMM_TESTS=OFF -DSTRATAGEMM_EXAMPLES=OFF
    "$cmake" --build "$tmp/library"
    "$cmake" --install "$tmp/library" --prefix "$tmp/prefix"
    program kernels -DCMAKE_PREFIX_PATH="$tmp/prefix"
    "$tmp/build/threaded"
    ;;
*)
    echo "unknown way: $way"
    exit 1
    ;;
esac
