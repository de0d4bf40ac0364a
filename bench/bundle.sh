#!/bin/sh
# Packs a program, bench_host unless another is named, with everything it loads, for an x86-64 Linux machine where
# neither a peer nor Google Benchmark is installed.
#   bench/bundle.sh DIR [PROGRAM [BUILD]]     then, there:  DIR/run.sh [its options]
# or packs Google Benchmark as it is installed here, for a machine that has a compiler and no network:
#   bench/bundle.sh DIR benchmark [BUILD]     then, there:  CMAKE_PREFIX_PATH=DIR ./dev bench cuda
# The C library comes from that machine, so it must not be older than this one's. Build with
# -DSTRATAGEMM_BENCH_MARCH=... of that machine: native means this one.
set -eu

dir=${1:?usage: bench/bundle.sh DIR [PROGRAM [BUILD]]}
root=$(cd "$(dirname "$0")/.." && pwd)
name=${2:-bench_host}
build=${3:-${STRATAGEMM_BENCH_BUILD:-$root/build/bench}}
program=$build/bench/$name
mkdir -p "$dir"

if [ "$name" = benchmark ]; then
    config=$(sed -n 's/^benchmark_DIR:[A-Z]*=\(.*\/cmake\/benchmark\)$/\1/p' "$build/CMakeCache.txt")
    [ "$config" ] || { echo "no package of Google Benchmark is installed here" >&2 && exit 1; }
    prefix=${config%/lib*}
    libraries=${config#"$prefix/"} libraries=${libraries%/cmake/benchmark}
    (cd "$prefix" && tar -c include/benchmark "$libraries/cmake/benchmark" "$libraries"/libbenchmark*) | tar -C "$dir" -x
    exit
fi

files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT

# path of a shared library as the loader finds it
find_library() { /sbin/ldconfig -p | awk -v name="$1" '$1 == name && /x86-64/ { print $NF; exit }'; }

# what a file loads, except for the C library, which belongs to the machine
needed_by() {
    ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
        grep -Ev '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*)\.so'
}

cp "$program" "$files/$name"
strip "$files/$name"
opened=
case $name in bench_host | bench_emulation | bench_accuracy) opens='libopenblas.so.0 libblis.so.4' ;; *) opens= ;; esac
for library in $opens; do
    path=$(find_library "$library")
    if [ -n "$path" ]; then opened="$opened $path"; else echo "not installed, left out: $library"; fi
done
for path in $opened $(for f in "$program" $opened; do needed_by "$f"; done | sort -u); do
    cp -L "$path" "$files/"
    strip --strip-unneeded "$files/$(basename "$path")"
done

# One archive: the peers hold kernels for every processor and shrink to a third.
tar -C "$files" -czf "$dir/$name.tar.gz" .
sed "s/NAME/$name/" >"$dir/run.sh" <<'RUN'
#!/bin/sh
# Unpacks a program and its peers beside this script, once, and runs it; results go to the current folder.
set -eu
program=$(cd "$(dirname "$0")" && pwd)/NAME
if [ ! "$program" -nt "$program.tar.gz" ]; then
    tar -C "$(dirname "$program")" -xmzf "$program.tar.gz"
    touch "$program"
fi
exec "$program" "$@"
RUN
chmod +x "$dir/run.sh"
ls "$files"
du -h "$dir/$name.tar.gz"
