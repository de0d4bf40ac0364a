#!/bin/sh
# page_check.sh PAGE: a page with a picture can be read on a telephone. It has a viewport, no part of it has a fixed
# width, and no letter of its picture is smaller than 12 pixels on a screen that is 400 pixels wide.
# Prints what is wrong, if something is.
set -eu
page=$1
failed=0
wrong() {
    printf '%s: %s\n' "$page" "$*"
    failed=1
}

grep -q "<meta name=viewport content='width=device-width" "$page" || wrong "no viewport"
fixed=$(grep -oE "(^|[^-a-z])(min-)?width:[0-9.]+(px|em|rem)|<(svg|img|table)[^>]* width=[^>]*" "$page" || true)
[ -z "$fixed" ] || wrong "a fixed width: $fixed"

# A viewBox says how many units the 384 pixels are that the margins leave.
small=$(awk '
    match($0, /viewBox=.0 0 [0-9.]+/) { split(substr($0, RSTART, RLENGTH), part, " "); units = part[3] }
    {
        line = $0
        while (match(line, /font-size=.[0-9.]+/)) {
            size = substr(line, RSTART + 11, RLENGTH - 11) + 0
            seen = 1
            if (!units || size * 384 / units < 12) { print size " of " units " units"; exit }
            line = substr(line, RSTART + RLENGTH)
        }
    }
    END { if (!seen) print "no picture" }' "$page")
[ -z "$small" ] || wrong "small letters: $small"

exit $failed
