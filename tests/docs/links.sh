#!/bin/sh
# Every relative link of the documents leads to a file of the repository, and its #anchor to a heading there; each
# example has a link in docs/choosing.md; each folder of include/ with more than ten files has a README.md, whose headers
# are there. Prints what is missing.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."

# anchors FILE: of its headings, as the forges make them.
anchors() {
    awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ +/, ""); print tolower($0) }' "$1" |
        sed -e 's/[^a-z0-9 _-]//g' -e 's/ /-/g'
}

# links FILE: targets of [text](target), outside code.
links() {
    awk '/^```/ { code = !code } !code' "$1" | sed 's/`[^`]*`//g' | grep -oE '\]\([^)[:space:]]+\)' |
        sed -e 's/^](//' -e 's/)$//'
}

failed=0
for document in README.md CONTRIBUTING.md CHANGELOG.md docs/*.md; do
    for link in $(links "$document" || true); do
        case $link in *://* | mailto:*) continue ;; esac
        path=${link%%#*}
        anchor=
        case $link in *'#'*) anchor=${link#*#} ;; esac
        if [ -z "$path" ]; then target=$document; else target=$(dirname "$document")/$path; fi
        if [ ! -e "$target" ]; then
            echo "$document: $link: there is no such file"
            failed=1
        elif [ -n "$anchor" ] && ! anchors "$target" | grep -qxF -e "$anchor"; then
            echo "$document: $link: there is no such heading"
            failed=1
        fi
    done
done
# The table of examples names each.
for example in examples/*.cpp; do
    grep -qF "](../$example)" docs/choosing.md || { echo "docs/choosing.md does not name $example" && failed=1; }
done

without=$(find include/stratagemm -type d | while read -r folder; do
    files=$(find "$folder" -maxdepth 1 -name '*.hpp' | wc -l)
    [ "$files" -le 10 ] || [ -e "$folder/README.md" ] || echo "$folder has $files headers and no README.md"
done)
gone=$(find include/stratagemm -name README.md | while read -r page; do
    folder=$(dirname "$page")
    # shellcheck disable=SC2016
    grep -oE '`[a-z0-9_./]+[.]hpp`' "$page" | tr -d '`' | while read -r header; do
        [ -e "$folder/$header" ] || [ -e "include/stratagemm/$header" ] || echo "$page: there is no $header"
    done
done)
if [ -n "$without$gone" ]; then
    printf '%s\n' "$without" "$gone"
    failed=1
fi
exit $failed
