#!/bin/sh
# Fills the tables of docs/performance.md with the figures in bench/results: writes the page, with each table between
# "<!-- table: NAME -->" and "<!-- end -->" made anew, to standard output:
#   sh docs/tables.sh >page && mv page docs/performance.md
# With the argument "cells" it writes instead the figures of host, batches and groups that docs/choosing.md has in cells.
# tests/docs/pictures.sh compares both with the pages in the repository.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
results=bench/results

# host_means FILE FILE: of the two machines.
host_means() {
    echo "| cases | Xeon, AVX-512 and AMX, mean | worst | Zen 3, AVX2, mean | worst |"
    echo "| --- | ---: | ---: | ---: | ---: |"
    awk 'FNR == 1 { found = over = 0 }
        /^== / { over = 1 } # what follows the cases
        over { next }
        /^ratio to/ { found = FNR; ++file; next }
        found && NF >= 4 {
            match($0, / +[0-9]+ +[0-9.]+ +[0-9.]+ /)
            name = substr($0, 1, RSTART - 1)
            split(substr($0, RSTART), word, " ")
            if (name == "all") next # not as many on each machine
            if (file == 1) { order[++rows] = name; cases[name] = word[1] }
            value[name, file] = word[2] " | " word[3]
        }
        END {
            for (i = 1; i <= rows; ++i) {
                name = order[i]
                if (!((name, 2) in value)) value[name, 2] = "| "
                printf "| %s (%d) | %s | %s |\n", name, cases[name], value[name, 1], value[name, 2]
            }
        }' "$1" "$2"
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

# Of a case: its name, our rate, "-", the peer, its rate, the ratio, us, us of the host, TB/s and the kernel.
cuda() {
    echo "| product | TFLOP/s | cuBLAS | ratio | us | TB/s |"
    echo "| --- | ---: | ---: | ---: | ---: | ---: |"
    awk -v wanted="$1" '/^ratio to/ { exit }
        at = index($0, "  cuBLAS  ") {
            if ($0 !~ wanted) next
            split(substr($0, at + 10), after, " ")
            name = substr($0, 1, at)
            sub(/ +[0-9.]+ +- *$/, "", name)
            split(substr($0, length(name) + 1), own, " ")
            printf "| %s | %s | %s | %s | %s | %s |\n", name, own[1], after[1], after[2], after[3], after[5]
        }' $results/cuda-h100-2026-11-27.txt
}

# Geometric mean and worst of each type and kind.
cuda_means() {
    echo "| cases | mean | worst | |"
    echo "| --- | ---: | ---: | --- |"
    awk '/^ratio to/ { exit }
        at = index($0, "  cuBLAS  ") {
            split(substr($0, at + 10), after, " ")
            kind = $1
            if ($0 ~ / rows /) kind = kind ", few rows"
            if ($1 == "grouped") kind = kind " " $2
            if (!(kind in cases)) order[++kinds] = kind
            ++cases[kind]; sum[kind] += log(after[2])
            if (!(kind in worst) || after[2] + 0 < worst[kind] + 0) {
                worst[kind] = after[2]
                name = substr($0, 1, at)
                sub(/ +[0-9.]+ +- *$/, "", name)
                case_of[kind] = name
            }
        }
        END {
            for (i = 1; i <= kinds; ++i)
                printf "| %s (%d) | %.2f | %s | %s |\n", order[i], cases[order[i]],
                    exp(sum[order[i]] / cases[order[i]]), worst[order[i]], case_of[order[i]]
        }' $results/cuda-h100-2026-11-27.txt
}

opencl() {
    echo "| product | stratagemm | CLBlast | ratio | cuBLAS | ratio |"
    echo "| --- | ---: | ---: | ---: | ---: | ---: |"
    awk '/^ratio to/ { exit }
        /^[sd]gemm / {
            name = $1 " " $2
            match($0, /  (cuBLAS|CLBlast) /)
            own = $3
            split(substr($0, RSTART), word, " ")
            rate[word[1]] = word[2]; ratio[word[1]] = word[3]
        }
        /^ +(cuBLAS|CLBlast): / {
            gsub(/[:,]/, "")
            rate[$1] = $2; ratio[$1] = $4
            printf "| %s | %s | %s | %s | %s | %s |\n", name, own, rate["CLBlast"], ratio["CLBlast"],
                rate["cuBLAS"], ratio["cuBLAS"]
        }' $results/opencl-h100-2026-11-27.txt
}

table() {
    case $1 in
    host_means) host_means $results/host-xeon-2026-11-27.txt $results/host-zen3-2026-11-27.txt ;;
    emulated) emulated ;;
    cuda_means) cuda_means ;;
    cuda_squares) cuda '(1024x1024x1024|4096x4096x4096|8192x8192x8192)' ;;
    cuda_rows) cuda ' rows ' ;;
    opencl) opencl ;;
    *) echo "docs/tables.sh: there is no table $1" >&2 && exit 1 ;;
    esac
}

# ratios FILE KIND: the least and the largest ratio of the cases that begin with KIND.
ratios() {
    awk -v kind="$2" '/^ratio to/ { exit }
        /  [12] threads? / { ratio = $NF }
        at = index($0, "  cuBLAS  ") { split(substr($0, at + 10), after, " "); ratio = after[2] }
        (!at && !/  [12] threads? /) || ratio !~ /^[0-9]+[.][0-9]+$/ || index($0, kind) != 1 { next }
        { if (!any++ || ratio + 0 < least) least = ratio + 0; if (ratio + 0 > most) most = ratio + 0 }
        END { printf "%.2f to %.2f", least, most }' "$results/$1.txt"
}
mean_of_all() { awk '$1 == "all" { print $3; exit }' "$results/$1.txt"; }
cells() {
    xeon=host-xeon-2026-11-27 zen3=host-zen3-2026-11-27 h100=cuda-h100-2026-11-27
    echo "$(ratios $xeon ""), mean $(mean_of_all $xeon) (Xeon, AVX-512 and AMX); \
$(ratios $zen3 ""), mean $(mean_of_all $zen3) (Zen 3, AVX2)"
    echo "\`host\` $(ratios $xeon batched) (Xeon), $(ratios $zen3 batched) (Zen 3); \
\`cuda\` $(ratios $h100 batched) (H100)"
    echo "\`cuda\` $(ratios $h100 grouped) (H100)"
}
if [ "${1:-}" = cells ]; then
    cells
    exit
fi

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
