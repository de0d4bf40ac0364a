#!/bin/sh
# Draws the picture of the README from the figures in bench/results, as SVG on standard output:
#   sh docs/charts.sh >docs/ratios.svg
# Each dot is a case: our speed divided by that of the best other library of that case, in the same run. All cases of a
# run are drawn. tests/docs/pictures.sh compares the picture in the repository with what this writes.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../bench/results"

emulation="emulation-host-xeon-amx.txt"
cuda="cuda-h100.txt"
opencl="opencl-h100.txt"

# date_of FILE: the first date in it.
date_of() { grep -oE '20[0-9]{2}-[0-9]{2}-[0-9]{2}' "$1" | head -n 1; }

# host_cases MACHINE FILE
host_cases() {
    echo "group host: $1, 1 and 2 threads, $(date_of "$2")"
    echo "note to the best of OpenBLAS, BLIS, Eigen, oneDNN, libxsmm and inlined code"
    # The file has the means of ratios that are not rounded.
    awk 'NR == FNR {
            if (/^ratio to/) means = 1
            else if (means && match($0, / +[0-9]+ +[0-9.]+ +[0-9.]+ /)) {
                split(substr($0, RSTART), word, " ")
                mean[substr($0, 1, RSTART - 1)] = word[2]
            }
            next
        }
        /^-- / {
            sub(/^-- /, "")
            found = $0 in mean # or no other library does it on this machine
            if (found) print "row " $0 "\nmean " mean[$0]
            next
        }
        /^ratio to/ { exit }
        found && / thread/ && $NF != "-" { print $NF }' "$2" "$2"
}

# Each line of what follows: "group TITLE", "note TEXT", "row LABEL", the "mean RATIO" of the row where a file has one,
# or the ratio of a case.
{
    host_cases "Xeon with AMX" host-xeon-amx.txt
    host_cases "Zen 3, AVX2" host-zen3.txt

    echo "group emulated on host: Emerald Rapids with AMX, $(date_of "$emulation")"
    echo "note of full accuracy; to the best of the same libraries"
    awk '/^FP(32|64),/ { type = $1 }
        type == "FP64," && /^  ozaki fp64 / && $5 != "-" { fp64 = fp64 $5 "\n" }
        type == "FP32," && /^  ozaki fp32 / && $5 != "-" { fp32 = fp32 $5 "\n" }
        type == "FP32," && /^  split fp32 / && $5 != "-" { parts = parts $5 "\n" }
        END { printf "row double by ozaki\n%srow float by ozaki\n%srow float by split\n%s", fp64, fp32, parts }
        ' "$emulation"

    # A case: its name, our rate, "-", the peer, its rate, the ratio, us and more.
    echo "group cuda: H100, CUDA 13.0, $(date_of "$cuda")"
    echo "note to cuBLAS 13.1"
    awk '/^ratio to/ { exit }
        function add(row) { if (!(row in ratios)) order[++rows] = row; ratios[row] = ratios[row] word[2] "\n" }
        at = index($0, "  cuBLAS  ") {
            split(substr($0, at + 10), word, " ")
            if (/ rows /) add("few rows")
            else if (/^sgemm /) add("float")
            else if (/^dgemm /) add("double")
            else if (/^[cz]gemm /) add("complex")
            else if (/^(bf16|fp16) /) add("half, bfloat16")
            else if (/^tf32 /) add("float as tf32")
            else if (/^int8 /) add("int8")
            else if (/^batched /) add("batched float")
            else if (/^grouped /) add("grouped")
        }
        END { for (i = 1; i <= rows; ++i) printf "row %s\n%s", order[i], ratios[order[i]] }' "$cuda"

    # Beneath a case, its other peer.
    echo "group opencl: H100, $(date_of "$opencl")"
    echo "note to cuBLAS 13.1, and to CLBlast 1.5.3 with its tile tuned"
    awk '/^ratio to/ { exit }
        function add(peer, ratio) { ratios[type " / " peer] = ratios[type " / " peer] ratio "\n" }
        /^[sd]gemm / {
            type = /^s/ ? "float" : "double"
            match($0, /  (cuBLAS|CLBlast) /)
            split(substr($0, RSTART), word, " ")
            add(word[1], word[3])
        }
        /^ +(cuBLAS|CLBlast): / { sub(/^ +/, ""); add(substr($0, 1, index($0, ":") - 1), $NF) }
        END {
            split("float / CLBlast,double / CLBlast,float / cuBLAS,double / cuBLAS", row, ",")
            for (i = 1; i in row; ++i) printf "row %s\n%s", row[i], ratios[row[i]]
        }' "$opencl"
} | awk '
    function x_of(ratio) { return left + (log(ratio) - log(low)) / (log(high) - log(low)) * (right - left) }
    function text(x, y, size, anchor, what, extra) {
        gsub(/&/, "\\&amp;", what)
        body = body sprintf("<text x=\"%.1f\" y=\"%.1f\" font-size=\"%s\" text-anchor=\"%s\"%s>%s</text>\n",
                            x, y, size, anchor, extra, what)
    }
    # Small and grey, in lines of at most 60 letters.
    function quiet(what,    words, count, line, i) {
        count = split(what, words, " ")
        line = words[1]
        for (i = 2; i <= count; ++i)
            if (length(line " " words[i]) <= 60) line = line " " words[i]
            else { y += 18; text(6, y, 13.5, "start", line, " class=\"quiet\""); line = words[i] }
        y += 18
        text(6, y, 13.5, "start", line, " class=\"quiet\"")
    }
    function short(ratio) { return sprintf(ratio < 10 ? "%.2f" : "%.0f", ratio) }
    function end_row(    mean) {
        if (cases == 0) return
        mean = given ? given : exp(sum / cases)
        given = 0
        body = body sprintf("<path class=\"mean\" d=\"M%.1f %.1fv16\"/>\n", x_of(mean), y - 8)
        text(right + 56, y + 5, 14, "end", short(mean))
        text(width - 6, y + 5, 14, "end", short(worst), worst < 1 ? " class=\"below\"" : "")
        cases = sum = 0
    }
    # Narrow, so that a telephone does not make the letters small.
    BEGIN {
        width = 460; left = 132; right = 346; low = 0.3; high = 8; y = 46
        split("0.5 1 2 4 8", ticks, " ")
    }
    $1 == "group" {
        end_row()
        sub(/^group /, "")
        y += 36
        text(6, y, 15, "start", substr($0, 1, index($0, ":") - 1), " font-weight=\"bold\"")
        quiet(substr($0, index($0, ":") + 2))
        next
    }
    $1 == "note" { sub(/^note /, ""); quiet($0); next }
    $1 == "row" {
        end_row()
        sub(/^row /, "")
        y += 24
        worst = 1e9
        body = body sprintf("<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", left, y, right)
        for (i = 1; i in ticks; ++i)
            body = body sprintf("<path class=\"%s\" d=\"M%.1f %.1fv24\"/>\n", ticks[i] == 1 ? "one" : "grid",
                                x_of(ticks[i]), y - 12)
        text(6, y + 5, 14, "start", $0)
        next
    }
    $1 == "mean" { given = $2; next }
    {
        ratio = $1 + 0
        sum += log(ratio)
        ++cases
        ++all
        if (ratio < worst) worst = ratio
        if (ratio > high)
            body = body sprintf("<path class=\"dot\" d=\"M%.1f %.1fl8 5l-8 5z\"/>\n", right, y - 5)
        else
            body = body sprintf("<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", x_of(ratio), y)
    }
    END {
        end_row()
        height = y + 58
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\"",
            width, height, width, height
        print " font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\" role=\"img\">"
        print "<title>Speed of stratagemm divided by that of the best other library, case by case</title>"
        print "<style>text{fill:#1b1f24}.quiet{fill:#57606a}.below{fill:#a4500f}.grid{stroke:#d8dee4}" \
            ".one{stroke:#57606a;stroke-width:1.5}.dot{fill:#1f6fb2;fill-opacity:.55}" \
            ".mean{stroke:#0b3d66;stroke-width:3}</style>"
        printf "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height
        for (i = 1; i in ticks; ++i) text(x_of(ticks[i]), y + 30, 14, "middle", ticks[i])
        text(6, 22, 16, "start", "Speed relative to the best other library", " font-weight=\"bold\"")
        text(6, 42, 13.5, "start", all " cases, a dot each; right of 1: faster", " class=\"quiet\"")
        text(right + 56, 42, 13.5, "end", "mean", " class=\"quiet\"")
        text(width - 6, 42, 13.5, "end", "worst", " class=\"quiet\"")
        text(6, y + 50, 13.5, "start", "bars: geometric means; triangles: beyond 8", " class=\"quiet\"")
        printf "%s</svg>\n", body
    }'
