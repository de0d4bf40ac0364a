#!/bin/sh
# Fills the tables of docs/performance.md with the figures in bench/results: writes the page, with each table between
# "<!-- table: NAME -->" and "<!-- end -->" made anew, to standard output:
#   sh docs/tables.sh >page && mv page docs/performance.md
# tests/docs/pictures.sh compares the page in the repository with what this writes.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
results=bench/results

# host_cases FILE
host_cases() {
    echo "| case | threads | GFLOP/s | of peak | best other library | its GFLOP/s | ratio |"
    echo "| --- | ---: | ---: | ---: | --- | ---: | ---: |"
    awk '/^-- / { found = 1; next } /^ratio to/ { exit }
        found && match($0, / +[12] threads?/) {
            name = substr($0, 1, RSTART - 1)
            rest = substr($0, RSTART)
            count = split(rest, word, " ")
            peer = ""
            for (i = 5; i <= count - 2; ++i) peer = peer (i > 5 ? " " : "") word[i]
            printf "| %s | %s | %s | %s | %s | %s | %s |\n", name, word[1], word[3], word[4], peer, word[count - 1],
                word[count]
        }' "$1"
}

# host_means FILE FILE: of the two machines.
host_means() {
    echo "| cases | Emerald Rapids, mean | worst | Zen 4, mean | worst |"
    echo "| --- | ---: | ---: | ---: | ---: |"
    awk '/^ratio to/ { found = FNR; ++file; next }
        FNR == 1 { found = 0 }
        found && NF >= 4 {
            match($0, / +[0-9]+ +[0-9.]+ +[0-9.]+ /)
            name = substr($0, 1, RSTART - 1)
            split(substr($0, RSTART), word, " ")
            if (file == 1) order[++rows] = name " (" word[1] ")"
            value[name " (" word[1] ")"] = value[name " (" word[1] ")"] " | " word[2] " | " word[3]
        }
        END { for (i = 1; i <= rows; ++i) printf "| %s%s |\n", order[i], value[order[i]] }' "$1" "$2"
}

emulated() {
    echo "| product | threads | policy | GFLOP/s | / native | / best library | error | bound |"
    echo "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
    awk '/^== The state before it/ { exit }
        /^FP(32|64),/ { split($0, part, ", "); product = part[1] " " part[2]; threads = part[3] + 0; next }
        /^  (native|ozaki fp64|ozaki fp32|ozaki, 8 moduli|ozaki, 15 moduli|split fp32|split, 3 products) / {
            if (product ~ /FP64/ && / 8 moduli /) next
            if (product ~ /FP32/ && (/ 15 moduli / || /ozaki fp64/)) next
            name = $0
            sub(/^  /, "", name)
            sub(/ +[0-9.]+ +[0-9.]+ +[-0-9.]+ .*/, "", name)
            split(substr($0, length(name) + 3), word, " ")
            if (word[3] == "-") next # with neither in the run, the ratios are to something else
            printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", product, threads, name, word[1], word[2], word[3],
                word[4], word[5]
        }' "$results/emulation-emerald-rapids-2026-11-21.txt"
}

cuda() {
    echo "| product | stratagemm | cuBLAS | ratio | us | TB/s | kernel |"
    echo "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    awk '/^== Tests there/ { exit }
        /^(sgemm|dgemm|bf16|fp16|tf32|int8|fp8|batched|grouped) / && !/refused/ {
            at = /^grouped/ ? 3 : 2
            name = $1
            for (i = 2; i <= at; ++i) name = name " " $i
            gsub(/\*/, " * ", name)
            none = $(at + 2) == "-"
            ratio = none ? "-" : $(at + 3)
            next_one = at + (none ? 3 : 4)
            kernel = ""
            for (i = next_one + 2; i <= NF; ++i) kernel = kernel (kernel == "" ? "" : " ") $i
            printf "| %s | %s | %s | %s | %s | %s | %s |\n", name, $(at + 1), $(at + 2), ratio, $next_one,
                $(next_one + 1), kernel
        }' "$results/cuda-h200-2026-11-21.txt"
}

opencl() {
    echo "| product | stratagemm | CLBlast | ratio | cuBLAS | ratio |"
    echo "| --- | ---: | ---: | ---: | ---: | ---: |"
    awk '/^== bench_opencl/ { ++table }
        table == 1 && /^[sd]gemm / { printf "| %s %s | %s | %s | %s | %s | %.2f |\n", $1, $2, $3, $4, $5, $6, $7 }
        ' "$results/opencl-h200-2026-11-21.txt"
}

table() {
    case $1 in
    host) host_cases $results/host-emerald-rapids-2026-11-21.txt ;;
    host_zen4) host_cases $results/host-zen4-2026-11-21.txt ;;
    host_means) host_means $results/host-emerald-rapids-2026-11-21.txt $results/host-zen4-2026-11-21.txt ;;
    emulated) emulated ;;
    cuda) cuda ;;
    opencl) opencl ;;
    *) echo "docs/tables.sh: there is no table $1" >&2 && exit 1 ;;
    esac
}

inside=
while IFS= read -r line; do
    case $line in
    '<!-- table: '*)
        name=${line#<!-- table: }
        printf '%s\n' "$line"
        table "${name% -->}"
        inside=yes
        ;;
    '<!-- end -->')
        inside=
        printf '%s\n' "$line"
        ;;
    *) [ -n "$inside" ] || printf '%s\n' "$line" ;;
    esac
done <docs/performance.md
