#!/bin/sh
# docs/reference.md against the code: it names each environment variable that include/ reads, each macro that include/
# asks about or that tells the version, each CMake option, each header of a policy or a structure, each error code, and
# each member of the structs that callers fill in or read. What it names must exist. Prints what is missing on either
# side.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
page=docs/reference.md
failed=0

wrong() {
    echo "$page: $*"
    failed=1
}
# named TEXT...: each is on the page, in backticks.
named() { for text; do grep -qF "\`$text\`" "$page" || wrong "does not name $text"; done; }

# --- variables, macros, CMake ------------------------------------------------------------------------------
# Names of variables are literals of getenv, or of a list that a loop over them reads.
# shellcheck disable=SC2046
named $(grep -rhoE 'getenv\("[A-Z_]+"\)|\{("[A-Z_]*", )+"[A-Z_]*"\}' include |
    grep -oE '"[A-Z_]+"' | tr -d '"' | sort -u)

defined=$(grep -rhoE '#[[:space:]]*define STRATAGEMM_[A-Z_]+' include | grep -oE 'STRATAGEMM_[A-Z_]+' | sort -u)
asked=$(grep -rhE '#[[:space:]]*(if|ifdef|ifndef|elif).*STRATAGEMM_' include | grep -oE 'STRATAGEMM_[A-Z_]+' | sort -u)
for macro in $asked; do
    printf '%s\n' "$defined" | grep -qx "$macro" || named "$macro"
done
# shellcheck disable=SC2046
named $(printf '%s\n' "$defined" | grep '_VERSION_')

cmake_files="CMakeLists.txt tests/CMakeLists.txt bench/CMakeLists.txt"
# shellcheck disable=SC2046,SC2086
named $({
    grep -hoE '^ *option\(STRATAGEMM_[A-Z_]+' $cmake_files
    grep -hoE '^ *set\(STRATAGEMM_[A-Z_]+ .* CACHE' $cmake_files
} | grep -oE 'STRATAGEMM_[A-Z_]+' | sort -u)

for name in $(grep -oE 'STRATAGEMM_[A-Z_]+' "$page" | sort -u); do
    grep -rqw "$name" include cmake CMakeLists.txt tests/CMakeLists.txt bench/CMakeLists.txt ||
        wrong "names $name, which nothing reads"
done

# --- headers and error codes -------------------------------------------------------------------------------
for header in include/stratagemm/backend/*.hpp include/stratagemm/algorithm/*.hpp include/stratagemm/structure/*.hpp; do
    named "${header#include/}"
done
for header in $(grep -oE 'stratagemm/[a-z_/]+\.hpp' "$page" | sort -u); do
    [ -f "include/$header" ] || wrong "names $header, which does not exist"
done

codes=$(awk '/^enum class errc/ { inside = 1; next } /^};/ { inside = 0 }
    inside { sub(/\/\/.*/, ""); gsub(/[^a-z_]/, ""); if ($0 != "") print }' include/stratagemm/core/error.hpp)
for code in $codes; do named "errc::$code"; done
for code in $(grep -oE 'errc::[a-z_]+' "$page" | sort -u); do
    printf '%s\n' "$codes" | grep -qx "${code#errc::}" || wrong "names $code, which does not exist"
done

# --- members of structs ------------------------------------------------------------------------------------
# members FILE STRUCT: the names of its public data members.
members() {
    awk -v name="$2" '
        $0 ~ "^struct " name "( |$)" { inside = 1; depth = 0 }
        !inside { next }
        {
            line = $0
            sub(/\/\/.*/, "", line)
            before = depth
            opens = gsub(/\{/, "{", line); closes = gsub(/\}/, "}", line)
            depth += opens - closes
            if (before == 1 && line ~ /^(private|protected):/) exit
            if (before == 0) { if (opens > 0 && depth == 0) exit; next }
            if (depth == 0) exit
            if (before > 1 || depth > 1) { text = ""; next } # of a function or a type within
            text = text " " line
            if (line !~ /;[[:space:]]*$/) { if (line ~ /\}[[:space:]]*$/ || line ~ /^[[:space:]]*$/) text = ""; next }
            one = text
            text = ""
            while (sub(/<[^<>]*>/, "", one)) {}
            sub(/enum [a-z_]+ *\{[^}]*\}/, "enum", one)
            while (sub(/\{[^{}]*\}/, "", one)) {}
            sub(/^ */, "", one)
            if (one ~ /^(using|static|friend|template|typedef|constexpr)/) next
            gsub(/=[^,;]*/, "", one)
            if (one ~ /\(/) next
            count = split(one, part, ",")
            for (i = 1; i <= count; ++i) {
                gsub(/[[:space:];]+$/, "", part[i])
                sub(/.*[^A-Za-z0-9_]/, "", part[i])
                if (part[i] != "") print part[i]
            }
        }' "$1"
}
# rows STRUCT: the first column of the table below the heading of the struct.
rows() {
    awk -v heading="### \`$1\`" '
        /^#/ { inside = $0 == heading }
        inside && /^\| `/ { split($0, cell, "|"); gsub(/[ `]/, "", cell[2]); print cell[2] }' "$page"
}

structs=$({
    grep -rnE '^struct ([a-z0-9_]*(options|report|tile|tuned)|accuracy) \{' include
    for backend in $(grep -rl 'is_backend = true' include); do
        grep -HnE "^struct $(basename "$backend" .hpp) \{" "$backend" || true # opencl is a class
    done
} | sed -E 's/^([^:]*):[0-9]*:struct ([a-z0-9_]+).*/\1 \2/' | sort -u)
found=0
while read -r file struct; do
    named "$struct"
    grep -qxF "### \`$struct\`" "$page" || wrong "has no heading for $struct"
    for member in $(members "$file" "$struct"); do
        found=$((found + 1))
        rows "$struct" | grep -qx "$member" || wrong "does not list $struct::$member"
    done
    for member in $(rows "$struct"); do
        members "$file" "$struct" | grep -qx "$member" || wrong "lists $struct::$member, which does not exist"
    done
done <<END
$structs
END
[ "$found" -ge 40 ] || wrong "the headers were not understood: only $found members found"
for struct in $(sed -n 's/^### `\([a-z0-9_]*\)`$/\1/p' "$page"); do
    grep -rqE "^(struct|class) $struct\b" include || wrong "has a heading for $struct, which does not exist"
done

[ "$failed" -ne 0 ] || echo "$found members, and all the rest, are listed"
exit $failed
