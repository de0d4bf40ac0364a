#!/bin/sh
# Packs bench_host with everything it loads, for an x86-64 Linux machine where no peer is installed.
#   bench/bundle.sh DIR [BUILD]       then, there:  DIR/run.sh [bench_host's options]
# The C library comes from that machine, so it must not be older than this one's. Build with
# -DSTRATAGEMM_BENCH_MARCH=... of that machine: native means this one.
set -eu

dir=${1:?usage: bench/bundle.sh DIR [BUILD]}
root=$(cd "$(dirname "$0")/.." && pwd)
build=${2:-${STRATAGEMM_BENCH_BUILD:-$root/build/bench}}
program=$build/bench/bench_host
files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT

# path of a shared library as the loader finds it
find_library() { /sbin/ldconfig -p | awk -v name="$1" '$1 == name && /x86-64/ { print $NF; exit }'; }

# what a file loads, except for the C library, which belongs to the machine
needed_by() {
    ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
        grep -Ev '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*)\.so'
}

cp "$program" "$files/bench_host"
strip "$files/bench_host"
opened=
for name in libopenblas.so.0 libblis.so.4; do
    path=$(find_library "$name")
    if [ -n "$path" ]; then opened="$opened $path"; else echo "not installed, left out: $name"; fi
done
for path in $opened $(for f in "$program" $opened; do needed_by "$f"; done | sort -u); do
    cp -L "$path" "$files/"
    strip --strip-unneeded "$files/$(basename "$path")"
done

# One archive: the peers hold kernels for every processor and shrink to a third.
mkdir -p "$dir"
tar -C "$files" -czf "$dir/bench_host.tar.gz" .
cat >"$dir/run.sh" <<'RUN'
#!/bin/sh
# Unpacks bench_host and its peers beside this script, once, and runs it; results go to the current folder.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ ! "$here/bench_host" -nt "$here/bench_host.tar.gz" ]; then
    tar -C "$here" -xmzf "$here/bench_host.tar.gz"
    touch "$here/bench_host"
fi
exec "$here/bench_host" "$@"
RUN
chmod +x "$dir/run.sh"
ls "$files"
du -h "$dir/bench_host.tar.gz"
