#!/bin/sh
# page.sh PACKAGE PAGE ROOT: the blocks of the page run, those in Python as one program. `pip` is a stand-in that knows
# the page's calls: wheel.sh makes a wheel. Prints what fails.
set -eu
package=$1 page=$2 root=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
ln -s "$root/examples" "$folder/examples"
for python in "${PYTHON:-}" python3 /usr/bin/python3; do
    [ -n "$python" ] && command -v "$python" >/dev/null || continue
    "$python" -c 'import sys, numpy; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
    ln -s "$(command -v "$python")" "$folder/bin/python3"
    break
done
[ -e "$folder/bin/python3" ] || { echo "skipped: no Python 3.11 with NumPy here (Debian: python3-numpy)" && exit 77; }
cat >"$folder/bin/pip" <<'TEXT'
#!/bin/sh
case $* in 'install .' | 'wheel --no-deps --wheel-dir dist .') ;; *) echo "unknown: pip $*" && exit 1 ;; esac
TEXT
chmod +x "$folder/bin/pip"

awk -v folder="$folder" '
    /^```sh$/ { inside = 1; file = folder "/block" ++count ".sh"; next }
    /^```python$/ { inside = 1; file = folder "/blocks.py"; next }
    /^```$/ { inside = 0 }
    inside { print > file }' "$page"
cd "$folder"
PATH=$folder/bin:$PATH PYTHONPATH=$(dirname "$package") PYTHONDONTWRITEBYTECODE=1
export PATH PYTHONPATH PYTHONDONTWRITEBYTECODE
failed=0
for block in block*.sh; do
    sh -eu "$block" >said 2>&1 || { echo "fails:" && cat "$block" said && failed=1; }
done
python3 blocks.py >said 2>&1 || { echo "the blocks in Python fail:" && cat said && failed=1; }
grep -q '<svg' low_rank.svg || { echo "the example drew no picture" && failed=1; }
exit $failed
