#!/bin/sh
# sh pocl.sh FOLDER SOURCES...: a PoCL in FOLDER that compiles kernels in less time, for OCL_ICD_VENDORS=FOLDER/vendors.
# Before each kernel PoCL reads 18,000 lines that declare the functions of OpenCL C, which is half of what compiling it
# takes. Here only those functions are declared whose names occur in SOURCES; the rest of PoCL is the one
# that is installed, by links. Where PoCL is not the only driver, or its files lie elsewhere, no `vendors` are made.
set -eu
final=$1 folder=$1.new
shift
rm -rf "$folder"
none() {
    rm -rf "$final"
    exit 0
}
[ -z "${OCL_ICD_VENDORS:-}" ] || none
case $(echo /etc/OpenCL/vendors/*.icd) in
*' '* | *'*'*) none ;;
*/pocl*.icd) library=$(head -n 1 /etc/OpenCL/vendors/*.icd) ;;
*) none ;;
esac
case $library in
/*) ;;
?*) library=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | sed -n 's#^.* => \(.*/\)libpocl\.so[.0-9]*$#\1#p' | head -n 1)$library ;;
esac
[ -e "$library" ] || none
place=$(cd "$(dirname "$library")" && pwd -P)
data=$(cd "$place/../.." && pwd -P)/share/pocl # PoCL looks for its files from where it lies itself
[ -f "$data/include/opencl-c.h" ] || none

mkdir -p "$folder/lib/here" "$folder/share/pocl/include"
ln -s "$library" "$folder/lib/here/"
if [ -d "$place/pocl" ]; then ln -s "$place/pocl" "$folder/lib/here/"; fi
for file in "$data"/*.bc; do ln -s "$file" "$folder/share/pocl/"; done
for file in "$data"/include/*; do ln -s "$file" "$folder/share/pocl/include/"; done
rm "$folder/share/pocl/include/opencl-c.h"
# Names that kernels paste together are those of conversions without a suffix, and of loads and stores.
grep -rhoE '[a-z_][a-z_0-9]*' "$@" | sort -u | awk '
    NR == FNR { called[$0]; next }
    continues || /^#/ { print; continues = /\\$/; next }
    !declares && !/^[a-z][a-z0-9_ ]* \*?__ovld / { next }
    {
        text = declares ? text "\n" $0 : $0
        declares = !/;/
        if (declares) next
        name = text
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        if (name in called || name ~ /^(convert_[a-z]+[0-9]*|v(load|store)(_half)?[0-9]*(_rte)?)$/) print text
    }' - "$data/include/opencl-c.h" >"$folder/share/pocl/include/opencl-c.h"
mkdir "$folder/vendors"
echo "$final/lib/here/$(basename "$library")" >"$folder/vendors/pocl.icd"
# Tests may be running: what is as it was stays.
for file in vendors/pocl.icd share/pocl/include/opencl-c.h; do
    cmp -s "$folder/$file" "$final/$file" && continue
    rm -rf "$final"
    mv "$folder" "$final"
    exit
done
rm -rf "$folder"
