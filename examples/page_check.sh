#!/bin/sh
# page_check.sh PAGE: a page with pictures can be read on a wide screen and on a telephone. It has a viewport, no part of it has
# a fixed width, and no letter of its pictures is smaller than 12 pixels: on a screen that is 400 pixels wide, and of a picture
# of class wide, which such a screen does not show, on one of 1280.
# Prints what is wrong, if something is.
set -eu
page=$1
failed=0
wrong() {
    printf '%s: %s\n' "$page" "$*"
    failed=1
}

grep -q "<meta name=viewport content='width=device-width" "$page" || wrong "no viewport"
fixed=$(grep -oE "(^|[^-a-z])(min-)?width:[0-9.]+(px|em|rem)|<(svg|img|table)[^>]* width=[^>]*" "$page" |
    grep -v '^(min-width:1200px' || true)
[ -z "$fixed" ] || wrong "a fixed width: $fixed"
grep -qF '.wide{display:none}@media(min-width:1200px){.wide{display:block}.narrow{display:none}}' "$page" ||
    wrong "every screen shows both pictures"

# A viewBox says how many units the 384 or 1184 pixels are that the margins leave.
small=$(awk '
    match($0, /class=(wide|narrow)/) { pixels = substr($0, RSTART + 6, 4) == "wide" ? 1184 : 384; ++pictures }
    match($0, /viewBox=.0 0 [0-9.]+/) { split(substr($0, RSTART, RLENGTH), part, " "); units = part[3] }
    {
        line = $0
        while (match(line, /font-size=.[0-9.]+/)) {
            size = substr(line, RSTART + 11, RLENGTH - 11) + 0
            if (!units || size * pixels / units < 12) { print size " of " units " units"; exit }
            line = substr(line, RSTART + RLENGTH)
        }
    }
    END { if (pictures != 2) print pictures + 0 " pictures" }' "$page")
[ -z "$small" ] || wrong "small letters: $small"

exit $failed
