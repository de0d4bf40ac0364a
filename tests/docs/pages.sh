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

# Each page in a frame of either width, with pages.js in it; what the frames say comes into the title of the page around.
around=$work/around.html
{
    cat <<'TEXT'
<!doctype html><meta charset=utf-8><body style="margin:0"><pre></pre>
<script>
const said = [], silent = new Set(), frames = [];
onmessage = e => {
  const frame = frames.find(f => f.contentWindow === e.source);
  silent.delete(frame.title);
  for (const w of e.data.wrong) said.push(frame.title + ": " + w);
  document.querySelector("pre").textContent =
    said.concat([...silent].map(t => t + ": says nothing"), "checked " + frames.length).join("\n");
};
</script>
TEXT
    number=0
    for file; do
        number=$((number + 1))
        copy=$work/page$number.html
        {
            case $file in
            *.svg) echo '<!doctype html><meta charset=utf-8><style>body{margin:0}svg{max-width:100%;height:auto}</style>' ;;
            esac
            printf '<script>\n' && cat "$here/pages.js" && printf '</script>\n'
        } >"$work/head"
        # Behind the document type, which has to come first.
        case $file in
        *.svg) cat "$work/head" "$file" >"$copy" ;;
        *) { printf '<!doctype html>' && cat "$work/head" && sed '1s/^<!doctype html>//' "$file"; } >"$copy" ;;
        esac
        for width in 1280 400; do
            printf '<iframe title="%s at %s pixels" src="page%s.html" style="border:0;width:%spx;height:800px"></iframe>\n' \
                "${file#"$root/"}" "$width" "$number" "$width"
        done
    done
    echo '<script>for (const f of document.querySelectorAll("iframe")) { frames.push(f); silent.add(f.title); }</script>'
} >"$around"
"$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --virtual-time-budget=60000 \
    --dump-dom "file://$around" 2>"$work/errors" >"$work/dom" || { cat "$work/errors" && exit 1; }
sed -n '/<pre>/,$p' "$work/dom" | sed '/<\/pre>/q' |
    sed 's/.*<pre>//; s/<\/pre>.*//; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >"$work/said"
grep -q '^checked ' "$work/said" || {
    echo "the browser said nothing:"
    cat "$work/errors"
    exit 1
}
if grep -v '^checked ' "$work/said"; then exit 1; fi
echo "$#" pages and pictures, 1280 and 400 pixels wide
