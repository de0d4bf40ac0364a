# shellcheck shell=sh
# What scripts share that run a program of a preloaded library with other variables of the environment, and read what
# it says. They set `program`.
failed=0
wrong() {
    printf '%s\n%s\n\n' "$*" "$said"
    failed=1
}
# says TEXT STATUS VARIABLE=VALUE...   the program ends with this status, and what it prints has the text.
says() {
    text=$1 status=$2
    shift 2
    said=$(env "$@" "$program" 2>&1)
    result=$?
    [ $result -eq "$status" ] || wrong "with $* the program ends with $result instead of $status"
    printf '%s\n' "$said" | grep -qF -e "$text" || wrong "with $* there is no: $text"
}
# counts ROUTINE CALLS LEFT: what the report says.
counts() {
    [ "$(printf '%s\n' "$said" | awk -v routine="$1" '$1 == routine { print $2, $3 }')" = "$2 $3" ] ||
        wrong "$1: $2 calls here and $3 beneath are not reported"
}
