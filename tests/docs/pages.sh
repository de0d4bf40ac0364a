#!/bin/sh
# pages.sh [FILE...]: opens pages (.html) and pictures (.svg) in a browser without a window, 1280 and 400 pixels wide, and
# prints what pages.js finds there: errors of scripts, cut text, letters below 11 pixels. Without FILE it opens the pages that
# bench/pictures.sh draws from the measurements in bench/results, and the pictures of docs; and a page that is wrong in every
# way, so that the test can fail. Exits with 77 where there is no Chromium.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
for browser in chromium chromium-browser google-chrome; do command -v "$browser" >/dev/null 2>&1 && break; done
command -v "$browser" >/dev/null 2>&1 || {
    echo "skipped: no Chromium here"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ $# -eq 0 ]; then
    cat >"$work/wrong.html" <<'TEXT'
<!doctype html><meta name=viewport content="width=device-width"><p style="width:500px">wide</p><p style="font-size:9px">small</p>
<svg viewBox="0 0 100 40" width=100><text x=70 y=10 font-size=14>behind</text><text x=0 y=30 font-size=14>over</text>
<text x=2 y=31 font-size=14>text</text></svg><script>missing()</script>
TEXT
    said=$(sh "$0" "$work/wrong.html") && exit 1
    for found in 'script: .*missing' 'pixels wide' 'pixels: small' 'cut: behind' 'one over the other: over'; do
        printf '%s\n' "$said" | grep -q "$found" || { echo "not found on a page that has it: $found" && exit 1; }
    done
    for data in "$root"/bench/results/roofline-*.txt "$root"/bench/results/crossovers-*.txt "$root"/bench/results/gfx803-*.txt; do
        [ -e "$data" ] || continue
        name=$(basename "$data" .txt)
        sh "$root/bench/pictures.sh" --draw "${name%%-*}" "$data" "$work/$name"
        set -- "$@" "$work/$name.html" "$work/$name.svg"
    done
    set -- "$@" "$root"/docs/*.svg
fi

# look_at FILE: what is wrong with it, a line for each. The page is in a frame of either width, with pages.js in it, and what the
# frames say comes into the page around them. On a busy machine the browser may end before the frames speak; it is asked again
# then.
look_at() {
    {
        case $1 in
        *.svg) echo '<!doctype html><meta charset=utf-8><style>body{margin:0}svg{max-width:100%;height:auto}</style>' ;;
        *) printf '<!doctype html>' ;; # has to come first
        esac
        printf '<script>\n' && cat "$here/pages.js" && printf '</script>\n'
        sed '1s/^<!doctype html>//' "$1"
    } >"$work/page.html"
    {
        cat <<'TEXT'
<!doctype html><meta charset=utf-8><body style="margin:0"><pre></pre>
<script>
const said = [];
let left = 2;
onmessage = e => {
  const width = [...document.querySelectorAll("iframe")].find(f => f.contentWindow === e.source).title;
  for (const w of e.data.wrong) said.push(width + " pixels wide: " + w);
  if (--left === 0) document.querySelector("pre").textContent = said.concat("all said").join("\n");
};
</script>
TEXT
        for width in 1280 400; do
            printf '<iframe title=%s src=page.html style="border:0;width:%spx;height:800px"></iframe>\n' "$width" "$width"
        done
    } >"$work/around.html"
    for _ in first second third; do
        "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --virtual-time-budget=60000 \
            --dump-dom "file://$work/around.html" 2>"$work/errors" >"$work/dom" || true
        sed -n '/<pre>/,$p' "$work/dom" | sed '/<\/pre>/q' |
            sed 's/.*<pre>//; s/<\/pre>.*//; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >"$work/said"
        if grep -qx 'all said' "$work/said"; then
            grep -vx 'all said' "$work/said" | sed "s|^|${1#"$root/"}, |"
            return
        fi
    done
    echo "${1#"$root/"}: the browser does not show it"
    cat "$work/errors"
}

for file; do look_at "$file"; done >"$work/wrong"
if [ -s "$work/wrong" ]; then
    cat "$work/wrong"
    exit 1
fi
echo "$#" pages and pictures, 1280 and 400 pixels wide
