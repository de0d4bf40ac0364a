#!/bin/sh
# The rules of the house that grep can check. Prints each offending line; fails if there is one.
set -u
cd "$(dirname "$0")/../.." || exit 1

failed=0

# verdict RULE OFFENDERS: reports the lines, if any.
verdict() {
    [ -n "$2" ] || return 0
    printf '%s:\n%s\n\n' "$1" "$2"
    failed=1
}

# code FILE...: the files without their comments, each line preceded by file and line number.
code() {
    awk 'FNR == 1 { inside = 0 }
    {
        line = $0; out = ""
        while (line != "") {
            if (inside) {
                end = index(line, "*/")
                if (!end) break
                line = substr(line, end + 2); inside = 0
            } else {
                open = index(line, "/*"); rest = index(line, "//")
                if (rest && (!open || rest < open)) { out = out substr(line, 1, rest - 1); break }
                if (!open) { out = out line; break }
                out = out substr(line, 1, open - 1) " "; line = substr(line, open + 2); inside = 1
            }
        }
        print FILENAME ":" FNR ": " out
    }' "$@"
}

# tree: every file that is, or may become, part of the repository.
tree() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard
    else
        find . -name 'build*' -prune -o -name .git -prune -o -type f -print0
    fi
}

# in_tree PATTERN: the lines of text files in the tree that match.
in_tree() { tree | xargs -0 grep -InE -e "$1" /dev/null 2>/dev/null; }

# File names in this tree hold no white space.
front=$(find include/stratagemm/core include/stratagemm/gemm.hpp -name '*.hpp')
headers=$(find include -name '*.hpp')

# names_in FOLDER...: the names of the headers there, which are those of policies and operands; as one pattern, of an
# identifier that is or begins with one of them. A new header is covered the day it exists.
names_in() {
    printf '^[^ ]*: (.*[^A-Za-z_])?(%s)([^a-z]|$)' \
        "$(for f in "$@"; do find "$f" -maxdepth 1 -name '*.hpp' -exec basename {} .hpp \;; done | paste -sd '|' -)"
}
above=$(names_in include/stratagemm/algorithm include/stratagemm/structure)
# `host` and `reference` are also plain words, so of these two only includes and the scope are looked for.
backends=$(names_in include/stratagemm/backend | sed 's/host|//; s/|host//; s/reference|//; s/|reference//; s/file|//; s/|file//')
below=$(find include/stratagemm/backend include/stratagemm/device -name '*.hpp')

# shellcheck disable=SC2086
{
    verdict 'core/ and gemm.hpp include no backend and no algorithm' \
        "$(code $front | grep -E '#[[:space:]]*include.*(backend|algorithm|structure|device)/')"
    verdict 'core/ and gemm.hpp name no backend, no algorithm and no structure' \
        "$(code $front | grep -iE "$backends|$above|reference::")"
    verdict 'a backend and device/ include no algorithm and no structure' \
        "$(code $below | grep -E '#[[:space:]]*include.*(algorithm|structure)/')"
    verdict 'a backend and device/ name no algorithm and no structure: what knows both lives with these' \
        "$(code $below | sed 's/"cp\.async/"/' | grep -iE "$above")" # a copy in PTX is no structure/cp.hpp
    verdict 'headers that cost too much to compile' \
        "$(code $headers | grep -E '#[[:space:]]*include[[:space:]]*<(immintrin\.h|complex|iostream)>')"
    verdict 'headers without #pragma once' \
        "$(for h in $headers; do
            case $h in *.inl.hpp) continue ;; esac
            grep -q '^#pragma once' "$h" || printf '%s\n' "$h"
        done)"
}

# long_functions FILE...: the functions of C++ with more than 60 lines from their heads on, without text of kernels. A brace
# of a block follows a blank, and one of a value does not.
long_functions() {
    code "$@" | awk -v most=60 '
    {
        match($0, /:[0-9]+: /)
        name = substr($0, 1, RSTART - 1); at = substr($0, RSTART + 1, RLENGTH - 3) + 0
        line = substr($0, RSTART + RLENGTH)
        if (name != file) {
            if (depth) print file ": its braces cannot be counted"
            file = name; depth = inside = raw = macro = first = 0; head = ""
        }
        if (raw) {
            if (!match(line, /\)[a-z]*"/)) next
            raw = 0; line = substr(line, RSTART + RLENGTH)
        }
        gsub(/R"[a-z]*\([^)]*\)[a-z]*"/, "", line)
        if (match(line, /R"[a-z]*\(/)) { raw = 1; line = substr(line, 1, RSTART - 1) }
        if (macro || line ~ /^ *#/) { macro = line ~ /\\$/; next }
        gsub(/\\./, "", line); gsub(/"[^"]*"|\047.\047/, "", line)
        for (i = 1; i <= length(line); ++i) {
            c = substr(line, i, 1)
            if (c == "{") {
                ++depth
                if (i > 1 && substr(line, i - 1, 1) != " ") continue
                is_type = head ~ /(^|[^<,] )(class|struct|union|enum|namespace)[ \[]/
                if (!inside && head ~ /\(/ && head !~ /= *$/ && !is_type) { inside = depth; begins = first }
                head = ""; first = 0
            } else if (c == "}") {
                if (inside == depth) {
                    if (at - begins >= most) print name ":" begins ": " at - begins + 1 " lines"
                    inside = 0
                }
                --depth
                if (!inside && substr(line, i) ~ /^} *$/) { head = ""; first = 0 }
            } else if (c == ";") {
                head = ""; first = 0
            } else if (c != " " || head != "") {
                if (!first) first = at
                head = head c
            }
        }
        if (head != "") head = head " "
        if (head ~ /^template <[^(]*> *$/) first = 0
    }
    END { if (depth) print file ": its braces cannot be counted" }'
}

# long_kernels FILE...: the functions in the text of kernels with more than 120 lines. They begin and end at the left margin.
# Those that were longer when this rule was made may not become longer.
long_kernels() {
    awk '
    BEGIN {
        most["tiled.cl.hpp"] = 157; most["wgmma.cu.hpp"] = 244; most["simt.cu.hpp"] = 192; most["fp64.cu.hpp"] = 186
        most["two_of_four/warpgroups.hpp"] = 217; most["bsr/warpgroups.hpp"] = 135; most["split/warpgroups.hpp"] = 123
        most["sampled/device.hpp"] = 195; most["low_rank/device_kernels.hpp"] = 170; most["csr/union.hpp"] = 128
    }
    FNR == 1 {
        text = begins = 0; limit = 120
        for (name in most) if (substr(FILENAME, length(FILENAME) - length(name)) == "/" name) limit = most[name]
    }
    /R"[a-z]*\($/ { text = 1; begins = 0; next }
    /^\)[a-z]*"/ { text = 0 }
    text && !begins && /^[a-zA-Z_].*[({,]$/ && !/^(struct|namespace|enum|union|typedef)/ { begins = FNR }
    text && begins && /^}/ {
        if (FNR - begins >= limit) print FILENAME ":" begins ": " FNR - begins + 1 " lines"
        begins = 0
    }' "$@"
}
# shellcheck disable=SC2086
{
    verdict 'functions of more than 60 lines' "$(long_functions $headers)"
    verdict 'functions of kernels of more than 120 lines' "$(long_kernels $headers)"
}

versions=$({
    awk '/define STRATAGEMM_VERSION_(MAJOR|MINOR|PATCH)/ { v = v s $3; s = "." } END { print v }' \
        include/stratagemm/core/config.hpp
    sed -n 's/^project(stratagemm VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt
    sed -n 's/^ *"version": "\([0-9.]*\)",$/\1/p' vcpkg.json
} | sort -u)
[ "$(printf '%s\n' "$versions" | wc -l)" -eq 1 ] ||
    verdict 'config.hpp, CMakeLists.txt and vcpkg.json disagree on the version' "$versions"

verdict 'dead branches' "$(in_tree '^[[:space:]]*#[[:space:]]*if[[:space:]]+0([^-+*/0-9a-zA-Z]|$)')"
verdict 'absolute paths of one machine' "$(in_tree '(^|[^A-Za-z0-9_.$}-])/(home|root|work|Users)/')"
verdict 'tab characters' "$(in_tree "$(printf '\t')")"

exit $failed
