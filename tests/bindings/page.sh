#!/bin/sh
# page.sh PAGE NAME LIBRARIES PROGRAM ROUTINE CALLS [SOURCE COMPILER]: the shell blocks of the page run, where PROGRAM
# stands for what a user has and SOURCE for its source, and LIBRARIES, a folder, for what ./dev NAME builds. The report
# says that ROUTINE was called so often. Prints what fails.
set -eu
page=$1 name=$2 libraries=$3 program=$4 routine=$5 calls=$6 source=${7:-} compiler=${8:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/build/$name/bindings" "$folder/bin"
ln -s "$libraries" "$folder/build/$name/bindings/$name"
ln -s "$program" "$folder/program"
if [ -n "$source" ]; then
    ln -s "$source" "$folder/program.cpp"
    ln -s "$(command -v "$compiler")" "$folder/bin/g++"
fi
printf '#!/bin/sh\n[ "$*" = %s ]\n' "$name" >"$folder/dev"
chmod +x "$folder/dev"

awk -v folder="$folder" '
    /^```sh$/ { inside = 1; file = folder "/block" ++count ".sh"; next }
    /^```$/ { inside = 0 }
    inside { print > file }' "$page"
cd "$folder"
PATH=$folder/bin:$PATH
export PATH
failed=0
if grep -q 'libblas\.so\.3' "$page" && [ ! -e "build/$name/bindings/$name/stratagemm/libblas.so.3" ]; then
    echo "skipped: no stratagemm/libblas.so.3, since there is no BLAS beneath"
    exit 77
fi
for block in block*.sh; do
    sh -eu "$block" >said 2>&1 || { echo "fails:" && cat "$block" said && failed=1; }
    if grep -q '_REPORT=1' "$block"; then
        # The first line of the report and its heading are those of the page, but for the number of the process.
        grep "^stratagemm-$name: process" said | sed 's/process [0-9]*/process 4242/' >lines
        grep '^routine' said >>lines
        while IFS= read -r line; do
            grep -qxF -e "$line" "$page" || { echo "the page does not have: $line" && failed=1; }
        done <lines
        grep -q "^$routine  *$calls  *0 " said || { echo "no $routine in the report" && failed=1; }
    fi
done
exit $failed
