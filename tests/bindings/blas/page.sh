#!/bin/sh
# page.sh PAGE LIBRARIES PROGRAM SOURCE COMPILER: the shell blocks of the page run, where PROGRAM stands for what a
# user has, SOURCE for its source, and LIBRARIES, a folder, for what ./dev blas builds. Prints what fails.
set -eu
page=$1 libraries=$2 program=$3 source=$4 compiler=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/build/blas/bindings" "$folder/bin"
ln -s "$libraries" "$folder/build/blas/bindings/blas"
ln -s "$program" "$folder/program"
ln -s "$source" "$folder/program.cpp"
ln -s "$(command -v "$compiler")" "$folder/bin/g++"
printf '#!/bin/sh\n[ "$*" = blas ]\n' >"$folder/dev"
chmod +x "$folder/dev"

awk -v folder="$folder" '
    /^```sh$/ { inside = 1; file = folder "/block" ++count ".sh"; next }
    /^```$/ { inside = 0 }
    inside { print > file }' "$page"
cd "$folder"
PATH=$folder/bin:$PATH
export PATH
failed=0
if [ ! -e build/blas/bindings/blas/stratagemm/libblas.so.3 ]; then
    echo "skipped: no stratagemm/libblas.so.3, since there is no BLAS beneath"
    exit 77
fi
for block in block*.sh; do
    sh -eu "$block" >said 2>&1 || { echo "fails:" && cat "$block" said && failed=1; }
    if grep -q STRATAGEMM_BLAS_REPORT=1 "$block"; then
        # The first line of the report and its heading are those of the page, but for the number of the process.
        grep '^stratagemm-blas: process' said | sed 's/process [0-9]*/process 4242/' >lines
        grep '^routine' said >>lines
        while IFS= read -r line; do
            grep -qxF -e "$line" "$page" || { echo "the page does not have: $line" && failed=1; }
        done <lines
        grep -q '^dgemm_  *1  *0 ' said || { echo "no dgemm_ in the report" && failed=1; }
    fi
done
exit $failed
