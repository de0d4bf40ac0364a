#!/bin/sh
# page.sh PAGE LIBRARIES PROGRAM: the shell blocks of the page run, where PROGRAM stands for what a user has, and
# LIBRARIES, a folder, for what ./dev cublas builds. Prints what fails.
set -eu
page=$1 libraries=$2 program=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/build/cublas/bindings"
ln -s "$libraries" "$folder/build/cublas/bindings/cublas"
ln -s "$program" "$folder/program"
printf '#!/bin/sh\n[ "$*" = cublas ]\n' >"$folder/dev"
chmod +x "$folder/dev"

awk -v folder="$folder" '
    /^```sh$/ { inside = 1; file = folder "/block" ++count ".sh"; next }
    /^```$/ { inside = 0 }
    inside { print > file }' "$page"
cd "$folder"
failed=0
for block in block*.sh; do
    sh -eu "$block" >said 2>&1 || { echo "fails:" && cat "$block" said && failed=1; }
    if grep -q STRATAGEMM_CUBLAS_REPORT=1 "$block"; then
        # The first line of the report and its heading are those of the page, but for the number of the process.
        grep '^stratagemm-cublas: process' said | sed 's/process [0-9]*/process 4242/' >lines
        grep '^routine' said >>lines
        while IFS= read -r line; do
            grep -qxF -e "$line" "$page" || { echo "the page does not have: $line" && failed=1; }
        done <lines
        grep -q '^cublasDgemm_v2  *3  *0 ' said || { echo "no cublasDgemm_v2 in the report" && failed=1; }
    fi
done
exit $failed
