#!/bin/sh
# Fills the tables of docs/performance.md with the figures in bench/results: writes the page, with each table between
# "<!-- table: NAME -->" and "<!-- end -->" made anew, to standard output:
#   sh docs/tables.sh >page && mv page docs/performance.md
# With the argument "approximate" it does so for docs/approximate.md; likewise "types" and "selection".
# With the argument "cells" it writes the figures of host, batches and groups that docs/choosing.md has in cells.
# tests/docs/pictures.sh compares both with the pages in the repository.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../bench/results"

# dates_of FILE: the dates in it, of the second and later ones the day.
dates_of() {
    grep -oE '20[0-9]{2}-[0-9]{2}-[0-9]{2}' "$1" | sort -u |
        awk 'NR > 1 { $0 = ", " substr($0, 9) } { printf "%s", $0 }'
}

host_means() {
    echo "| cases | Xeon, AVX-512 and AMX, mean | worst | Zen 3, AVX2, mean | worst |"
    echo "| --- | ---: | ---: | ---: | ---: |"
    awk 'FNR == 1 { found = 0; ++file }
        /^ratio to/ { found = 1; next }
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
        }' host-xeon-amx.txt host-zen3.txt
}

# cases FILE: of each case of a run on a device its name and its ratio, with a tab between them. A line of the run is a
# name, our rate, "-", the peer, its rate, the ratio and more; in a file without rates a name, the ratio and us.
cases() {
    awk '/^ratio to/ || cases && /^==/ { exit }
        at = index($0, "  cuBLAS  ") {
            split(substr($0, at + 10), word, " ")
            name = substr($0, 1, at)
            sub(/ +[0-9.]+ +- *$/, "", name)
            printf "%s\t%s\n", name, word[2]
            next
        }
        match($0, / +[0-9]+[.][0-9]+ +[0-9.-]+$/) {
            split(substr($0, RSTART), word, " ")
            printf "%s\t%s\n", substr($0, 1, RSTART - 1), word[1]
            ++cases
        }' "$1"
}

# Of the cases of a run of the OpenCL backend, as cases() has them, with the peer in the name.
opencl_cases() {
    awk '/^ratio to/ { exit }
        /^[sd]gemm / {
            match($0, /  (cuBLAS|CLBlast) /)
            split(substr($0, RSTART), word, " ")
            name = "opencl " $1
            printf "%s, to %s\t%s\n", name, word[1], word[3]
        }
        /^ +(cuBLAS|CLBlast): / { gsub(/[:,]/, ""); printf "%s, to %s\t%s\n", name, $1, $4 }' "$1" | sort -r
}

# Geometric mean and worst of each type and kind.
devices() {
    echo "| cases | H100, mean | worst | H200, mean | worst |"
    echo "| --- | ---: | ---: | ---: | ---: |"
    { cases cuda-h100.txt && opencl_cases opencl-h100.txt && echo next && cases cuda-h200.txt; } | awk -F '\t' '
        BEGIN { file = 1 }
        $0 == "next" { file = 2; next }
        {
            kind = $1
            if (kind !~ /^opencl/) sub(/ .*/, "", kind)
            if ($1 ~ / rows /) kind = kind ", few rows"
            if (kind == "grouped") { split($1, word, " "); kind = kind " " word[2] }
            if (!(kind in any)) { any[kind] = 1; order[++kinds] = kind }
            ++cases[kind, file]
            sum[kind, file] += log($2)
            if (cases[kind, file] == 1 || $2 + 0 < worst[kind, file] + 0) worst[kind, file] = $2
        }
        function cell(kind, file) {
            if (!((kind, file) in cases)) return " | "
            mean = exp(sum[kind, file] / cases[kind, file])
            return sprintf("%.2f (%d) | %s", mean, cases[kind, file], worst[kind, file])
        }
        END {
            for (i = 1; i <= kinds; ++i) printf "| %s | %s | %s |\n", order[i], cell(order[i], 1), cell(order[i], 2)
        }'
}

# Of each type the last row in the file.
sweeps() {
    echo "| where | date | float | double | bfloat16 | half | int8 |"
    echo "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for line in "host-xeon-amx:\`host\`, 1 thread of a Xeon with AMX" "host-zen4:\`host\`, 1 thread of Zen 4, AVX-512" \
        "cuda-h100:\`cuda\`, H100" "cuda-h200:\`cuda\`, H200" \
        "opencl-h100:\`opencl\`, H100" "opencl-h200:\`opencl\`, H200" \
        "opencl-pocl-xeon:\`opencl\`, PoCL on a Xeon" "opencl-pocl-zen3:\`opencl\`, PoCL on Zen 3"; do
        file=sweep-${line%%:*}.txt
        awk -v where="${line#*:}" -v date="$(dates_of "$file")" '
            /^ratio to/ { inside = 1; next }
            !NF { inside = 0 }
            inside { type = $1; sub(/,/, "", type); value[type] = $(NF - 2) " / " $(NF - 1) " / " $NF }
            END {
                printf "| %s | %s |", where, date
                split("float double bfloat16 half int8", types, " ")
                for (i = 1; i <= 5; ++i) printf " %s |", value[types[i]]
                print ""
            }' "$file"
    done
}

# emulation FILE MACHINE: over the native product and over the best other library.
# If a product was run several times, the last counts.
emulation() {
    awk -v machine="$2" '
        /^complex / { type = "" }
        /^FP(32|64), / { split($0, part, ", "); type = part[1]; size = part[2]; threads = part[3] + 0; next }
        /^  (ozaki|split) fp(32|64) / {
            if ($2 != tolower(type)) next
            if ($5 == "-") next # no other library in the run
            row = type " by `" $1 "`" (threads ? ", " threads (threads == 1 ? " thread" : " threads") : "")
            if (!(row in any)) { any[row] = 1; order[++rows] = row }
            value[row, size] = $4 ", " $5
        }
        END {
            for (i = 1; i <= rows; ++i) {
                row = order[i]
                printf "| %s: %s |", machine, row
                for (size = 1024; size <= 16384; size *= 2) printf " %s |", value[row, size]
                print ""
            }
        }' "$1"
}

emulated() {
    echo "| | 1024 | 2048 | 4096 | 8192 | 16384 |"
    echo "| --- | ---: | ---: | ---: | ---: | ---: |"
    emulation emulation-host-xeon-amx.txt "Xeon with AMX"
    emulation emulation-cuda-h200.txt H200
}

# The levels taken, over the base, and over cuBLAS where it ran.
strassen() {
    echo "| | 4096 | 8192 | 16384 |"
    echo "| --- | ---: | ---: | ---: |"
    awk 'function finish() {
            if (!size || size < 4096) return
            if (!(row in any)) { any[row] = 1; order[++rows] = row }
            value[row, size] = sprintf("%d: %.2f%s", levels, over, peer ? sprintf(", %.2f", rate / peer) : "")
            size = 0
        }
        /^[sd]gemm strassen/ { finish(); type = $1; size = $3; levels = peer = 0 }
        /\{(cuda|opencl), automatic\}/ {
            row = type (/opencl/ ? ", `opencl`" : ", `cuda`")
            rate = $3; over = $5; space = $NF
        }
        / levels?  .* of the base/ && $NF == space { levels = $1 } # the same workspace
        /^    cuBLAS / { peer = $2 }
        END {
            finish()
            for (i = 1; i <= rows; ++i) {
                printf "| %s |", order[i]
                for (size = 4096; size <= 16384; size *= 2) printf " %s |", value[order[i], size]
                print ""
            }
        }' strassen-h200.txt
}

sparse() {
    echo "| product | cases | mean | worst | of |"
    echo "| --- | ---: | ---: | ---: | --- |"
    awk '/^GFLOP\/s with A/ { cases = 0 }
        /^[a-z-]+\/(float|double)\// { ++cases; split($1, part, "/"); threads = part[3] }
        /^geometric mean/ {
            mean = $3; sub(/;/, "", mean)
            printf "| `csr` on a Xeon with AVX-512, %s | %d | %s | %s | the best of Eigen, librsb and MKL |\n",
                threads == 1 ? "1 thread" : threads " threads", cases, mean, $5
        }' sparse-host-xeon-avx512.txt
    awk '
        function add(row, ratio) {
            if (!(row in cases)) order[++rows] = row
            ++cases[row]; sum[row] += log(ratio)
            if (cases[row] == 1 || ratio < worst[row]) worst[row] = ratio
        }
        # after TEXT: the number that follows it in the line.
        function after(what,    at, word) {
            if (!(at = index($0, what))) return 0
            split(substr($0, at + length(what)), word, " ")
            return word[1]
        }
        / N +[0-9]+ .* ratio .* as it is / {
            add("`csr`, rows in pieces|the best of cuSPARSE, prepared", after(" ratio "))
            split(substr($0, index($0, "as it is")), word, " ")
            add("`csr` as it is|the best of cuSPARSE, prepared", word[6])
        }
        /^side / {
            best = after("blocked ELL "); other = after("cuSPARSE BSR ")
            if (other > best) best = other
            ours = after("128 x 256 by 1 ") # the tile that is chosen
            add("`bsr`, half, blocks of " $2 "|the better of cuSPARSE, blocked ELL and BSR", ours / best)
        }
        / dense .* transposed / {
            split(substr($0, index($0, "  gemm ")), word, " ")
            add("`two_of_four`, bfloat16, A B|our dense product", word[3])
            split(substr($0, index($0, "  transposed ")), word, " ")
            add("`two_of_four`, bfloat16, B A^T|our dense product", word[3])
        }
        / products, .* values / {
            add("sparse times sparse, values|cusparseSpGEMMreuse", after(" ratio "))
            add("sparse times sparse, structure|cusparseSpGEMMreuse", after("its structure ") / after(" pattern "))
        }
        /^geometric mean .* of / { mean[order[1]] = $3 } # of ratios that are not rounded
        END {
            for (i = 1; i <= rows; ++i) {
                split(order[i], part, "|")
                printf "| %s, H200 | %d | %.2f | %.2f | %s |\n", part[1], cases[order[i]],
                    order[i] in mean ? mean[order[i]] : exp(sum[order[i]] / cases[order[i]]), worst[order[i]], part[2]
            }
        }' sparse-h200.txt
}

# Each length: over the best other library and over FFTW, by type, on one thread; over the best on two; and the larger
# error over that of FFTW.
transforms() {
    echo "| transforms | float | double | float, 2 threads | double, 2 threads | error |"
    echo "| --- | ---: | ---: | ---: | ---: | ---: |"
    awk '/^points:.*threads:/ {
            split($1, part, "/")
            points = substr(part[1], 8); batch = substr(part[2], 7); real = part[4] == "real"
            two = $1 ~ /threads:2$/
            row = points " points" (real ? ", real" : "") (batch == 1 ? ", one" : ", " batch)
            if (!(row in any)) { any[row] = 1; order[++rows] = row }
            fftw = best = ""
            for (i = 2; i < NF; ++i) {
                if ($i == "FFTW") fftw = $(i + 2)
                if ($i == "ratio") best = $(i + 1)
                if ($i == "of") error = $(i - 1)
            }
            gsub(/[()]/, "", fftw)
            value[row, part[3], two] = two ? best : best ", " fftw
            if (error > worst[row]) worst[row] = error
        }
        END {
            for (i = 1; i <= rows; ++i) {
                row = order[i]
                printf "| %s | %s | %s | %s | %s | %s |\n", row, value[row, "float", 0], value[row, "double", 0],
                    value[row, "float", 1], value[row, "double", 1], worst[row]
            }
        }' fft-host-epyc.txt
}

# Each length on a device, in a captured graph: microseconds, over the peers, and over a copy where one of as many bytes
# was timed.
transforms_on_cuda() {
    echo "| transforms | type | us | over cuFFT | over VkFFT | over a copy | error |"
    echo "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    awk '/^graph points:/ {
            split($2, part, "/")
            points = substr(part[1], 8); batch = substr(part[2], 7)
            row = points " points" (part[4] == "" ? "" : ", " part[4]) (batch == 1 ? ", one" : ", " batch)
            cufft = vkfft = copy = error = ""
            for (i = 4; i <= NF; ++i) {
                name = $i == "cuFFT" || $i == "VkFFT" || $i == "copy" ? $i : name
                if ($i ~ /^[(][0-9.]+[)]$/) {
                    ratio = substr($i, 2, length($i) - 2)
                    if (name == "cuFFT") cufft = ratio
                    if (name == "VkFFT") vkfft = ratio
                    if (name == "copy") copy = ratio
                }
                if ($i == "error") error = $(i + 1)
            }
            sub(/,$/, "", error)
            printf "| %s | %s | %s | %s | %s | %s | %s |\n", row, part[3], $3, cufft, vkfft, copy, error
        }' fft-cuda-h200.txt
}

# The same through OpenCL, where calls are queued: float and double, over VkFFT.
transforms_through_opencl() {
    echo "| transforms | float, us | over VkFFT | double, us | over VkFFT |"
    echo "| --- | ---: | ---: | ---: | ---: |"
    awk '/^points:[0-9].* [0-9.]+  / {
            split($1, part, "/")
            points = substr(part[1], 8); batch = substr(part[2], 7)
            row = points " points" (part[4] == "" ? "" : ", " part[4]) (batch == 1 ? ", one" : ", " batch)
            if (!(row in known)) { known[row] = 1; name[++rows] = row }
            us[row, part[3]] = $2
            for (i = 3; i < NF; ++i)
                if ($i == "VkFFT") {
                    while ($i !~ /^[(][0-9.]+[)]$/) ++i
                    over[row, part[3]] = substr($i, 2, length($i) - 2)
                    break
                }
        }
        END {
            for (r = 1; r <= rows; ++r)
                printf "| %s | %s | %s | %s | %s |\n", name[r], us[name[r], "float"], over[name[r], "float"],
                    us[name[r], "double"], over[name[r], "double"]
        }' fft-opencl-h200.txt
}

# Means over kinds of matrices, by the number of columns.
graphs() {
    awk '/geometric mean/ && ($2 == "plain" || $2 == "balanced") {
            sub(/,$/, "", $5)
            sub(/;$/, "", $7)
            if (!any++) {
                printf "| type | product | mean | worst |"
                for (i = 10; i < NF; i += 2) printf " N = %d |", $i
                printf "\n| --- | --- | ---: | ---: |"
                for (i = 10; i < NF; i += 2) printf " ---: |"
                print ""
            }
            printf "| %s | %s | %s | %s |", $1, $2, $5, $7
            for (i = 11; i <= NF; i += 2) printf " %s |", $i
            print ""
        }' sparse-graphs-h200.txt
}

# Microseconds of a Toeplitz matrix times columns in a captured graph, and how many times as long others take.
toeplitz_on_cuda() {
    echo "| matrix | columns | directly | by transforms, kept | cuFFT calls | cuBLAS |"
    echo "| --- | ---: | ---: | ---: | ---: | ---: |"
    awk '/ columns, graph: / {
            row = "| " $1 " x " $3 " | " $5 " |"
            for (i = 7; i <= NF; ++i)
                if ($i == "us") row = row " " $(i - 1) " us, " substr($(i + 1), 2, length($(i + 1)) - 2) " |"
            print row
        }' toeplitz-cuda-h200.txt
}

# Each way to divide the work: instructions, registers, shared memory; and, of a run on a device, microseconds.
variants() {
    awk '/^transforms/ {
            columns = split($0, word, / of /) - 1
            printf "| transforms a block | points a thread | table | threads | instructions: loop, unrolled | registers"
            printf " | shared bytes, pitch 65, 66 |"
            for (i = 1; i <= columns; ++i) printf " us of %d: loop, unrolled; pitch 65, 66 |", word[i + 1]
            printf "\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
            for (i = 1; i <= columns; ++i) printf " ---: |"
            print ""
            next
        }
        / library / && NF >= 9 {
            printf "| %d, the library\047s kernel | %d | | %d | %d | %d | %d |", $1, $2, $6, $7, $8, $9
            for (i = 1; i <= columns; ++i) printf " %s |", $(9 + i)
            print ""
        }
        / (loop|unrolled) / && NF >= 9 {
            # in order: loop 65, loop 66, unrolled 65, unrolled 66
            ++form
            instructions[form] = $7; registers[form] = $8; shared[form] = $9
            for (i = 1; i <= columns; ++i) us[form, i] = $(9 + i)
            if (form < 4) next
            form = 0
            least = most = registers[1]
            for (i = 2; i <= 4; ++i) {
                if (registers[i] < least) least = registers[i]
                if (registers[i] > most) most = registers[i]
            }
            printf "| %d | %d | %d | %d | %d, %d | %s | %d, %d |", $1, $2, $3, $6, instructions[1], instructions[3],
                least == most ? least : least " to " most, shared[1], shared[2]
            for (i = 1; i <= columns; ++i) printf " %s, %s; %s, %s |", us[1, i], us[3, i], us[2, i], us[4, i]
            print ""
        }' fft-variants-h200.txt
}

# How many times as fast as gemm.
dense_by_transforms() {
    awk '/^ +[0-9]+  gemm / {
            size[++columns] = $1
            for (i = 2; i <= NF; ++i) if ($i ~ /^(spectra|convolutions)$/) { value[$i, columns] = $(i + 3); }
        }
        END {
            printf "| |"
            for (i = 1; i <= columns; ++i) printf " %d |", size[i]
            printf "\n| --- |"
            for (i = 1; i <= columns; ++i) printf " ---: |"
            print ""
            split("spectra convolutions", way, " ")
            for (w = 1; w <= 2; ++w) {
                printf "| %s |", way[w]
                for (i = 1; i <= columns; ++i) {
                    cell = value[way[w], i]
                    gsub(/[(),]/, "", cell)
                    printf " %s |", cell
                }
                print ""
            }
        }' fft-dense-epyc.txt
}

# Of the last size in the file a row for each method and setting, a column for each kind of data.
approximate() {
    awk '/^== / {
            size = $2
            kind = $0
            sub(/^== [^,]*, /, "", kind)
            sub(/;.*/, "", kind)
            if (size != last) { kinds = rows = 0; last = size; split("", known); split("", cell) }
            name[++kinds] = kind
            nothing[kinds] = $NF
            next
        }
        !kinds || /^method / || NF < 4 { next }
        {
            row = $0
            sub(/  .*/, "", row)
            split(substr($0, length(row) + 1), value, " ")
            if (!(row in known)) { known[row] = ++rows; label[rows] = row }
            i = known[row]
            if (value[3] == "refused:") cell[i, kinds] = "refused"
            else cell[i, kinds] = value[2] " / " value[3] " / " value[4]
            if ($NF == "native") cell[i, kinds] = value[2] ", exact"
        }
        END {
            printf "| |"
            for (k = 1; k <= kinds; ++k) printf " %s |", name[k]
            printf "\n| --- |"
            for (k = 1; k <= kinds; ++k) printf " ---: |"
            printf "\n| C = 0 |"
            for (k = 1; k <= kinds; ++k) printf " %s |", nothing[k]
            for (i = 1; i <= rows; ++i) {
                printf "\n| %s |", label[i]
                for (k = 1; k <= kinds; ++k) printf " %s |", cell[i, k]
            }
            print ""
        }' approximate-host-epyc.txt
}

# Nothing before there is a run. A row of the file begins with a name of 38 characters; the line above the rows names
# those that they are compared with.
approximate_on_cuda() {
    file=approximate-cuda-h200.txt
    [ -f $file ] || return 0
    echo "On an H200, [$(dates_of $file)](../bench/results/$file):"
    echo
    awk 'BEGIN { print "| | us | beside | error |\n| --- | ---: | --- | ---: |" }
        function trimmed(x) { gsub(/^ +| +$/, "", x); return x }
        /^== / { print "| **" substr($0, 4) "** | | | |"; inside = 1; next }
        inside && substr($0, 1, 38) ~ /^ +$/ {
            bytes = index($0, "GB/s") > 0
            sub(/ +error *$/, "")
            columns = split(substr($0, 39), name, "  / ") - 1
            for (i = 1; i <= columns; ++i) name[i] = trimmed(name[i + 1])
            next
        }
        /^srht over hadamard and copy: / {
            print "| srht over hadamard and copy | | " $NF " | |"
            next
        }
        !inside || length($0) < 60 || /^ +refused: / || / refused in / { next }
        {
            split(substr($0, 39), value, " ")
            us = value[1]
            sub(/[*]/, "", us)
            beside = ""
            for (i = 1; i <= columns; ++i)
                beside = beside (i > 1 ? ", " : "") value[2 + bytes + i] " of " name[i]
            printf "| %s | %s | %s | %s |\n", trimmed(substr($0, 1, 38)), us, beside, value[3 + bytes + columns]
        }' $file
}

# machine_of FILE: what a file of ./dev roofline, crossovers or bench matrix was measured on.
machine_of() { awk -F ' [|] ' '$1 == "about" && ($2 == "processor" || $2 == "device") { print $3; exit }' "$1"; }

# Of each kept roofline the rate of every type over that of float, on the first setting of the file: what the unit can do, and
# what the fastest square product of the library does. A run beside other programs, as its first lines say, is left out: it had
# less of the processor for one type than for another.
types() {
    echo "| machine | type | computed by | the unit over float's | our product over float's |"
    echo "| --- | --- | --- | ---: | ---: |"
    for file in roofline-*.txt; do
        if head -n 2 "$file" | grep -q 'Other programs'; then continue; fi
        awk -F ' [|] ' -v machine="$(machine_of "$file")" '
            ($1 == "unit" || $1 == "point") && setting == "" { setting = $2 }
            $2 != setting { next }
            $1 == "unit" { peak[$3] = $5 + 0; name[$3] = $4 }
            $1 == "point" && $4 == "n x n x n" && $7 == "library" {
                if (!($3 in best)) order[++types] = $3
                if ($10 + 0 > best[$3]) best[$3] = $10 + 0
            }
            function over(value, one) { return value > 0 && one > 0 ? sprintf("%.2f", value / one) : "" }
            END {
                for (i = 1; i <= types; ++i) {
                    type = order[i]
                    printf "| %s | %s | %s | %s | %s |\n", machine (setting == "device" ? "" : ", " setting), type,
                        type in name ? name[type] : "not measured", over(peak[type], peak["float"]),
                        over(best[type], best["float"])
                }
            }' "$file"
    done
}

# The selection matrix of each machine.
selection() {
    for file in matrix-*.txt; do
        printf '%s, [%s](../bench/results/%s):\n\n' "$(machine_of "$file")" "$(dates_of "$file")" "$file"
        awk -f ../matrix.awk "$file"
        echo
    done
}

table() {
    case $1 in
    types | selection) "$1" ;;
    approximate | approximate_on_cuda) "$1" ;;
    host_means | devices | sweeps | emulated | strassen | sparse | graphs) "$1" ;;
    transforms | transforms_on_cuda | transforms_through_opencl | toeplitz_on_cuda | variants | dense_by_transforms) "$1" ;;
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
        END { printf "%.2f to %.2f", least, most }' "$1.txt"
}
mean_of_all() { awk '$1 == "all" { print $3; exit }' "$1.txt"; }
cells() {
    xeon=host-xeon-amx zen3=host-zen3 h100=cuda-h100
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
done <"../../docs/${1:-performance}.md"
