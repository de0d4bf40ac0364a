#!/bin/sh
# bench/approximate.sh FILE: the errors of bench_approximate against the times, as SVG on standard output. FILE is what the
# program printed; of several sizes the last is drawn. There is a picture for each kind of data, and in it a mark for each
# method and setting; settings of one method are joined. The dashed line is the error of C = 0.
set -eu
export LC_ALL=C
awk '
    # A name ends where two spaces follow, or a number after them.
    function name_of(line) { sub(/  .*/, "", line); return line }
    /^== / {
        size = $2
        kind = $0
        sub(/; .*/, "", kind)
        sub(/^== /, "", kind)
        sub(/^[^,]*, /, "", kind)
        if (size != last) { panels = 0; last = size }
        ++panels
        title[panels] = kind
        nothing[panels] = $NF
        count[panels] = 0
        refused[panels] = ""
        next
    }
    !panels || /^method / || NF < 4 { next }
    {
        name = name_of($0)
        method = name
        sub(/,.*/, "", method)
        rest = substr($0, length(name) + 1)
        split(rest, value, " ")
        if (value[3] == "refused:") {
            if (index("|" refused[panels] "|", "|" method "|") == 0)
                refused[panels] = refused[panels] (refused[panels] ? "|" : "") method
            next
        }
        if ($NF == "native") next # a product of the base
        i = ++count[panels]
        method_at[panels, i] = method
        ms[panels, i] = value[1]
        error[panels, i] = value[3]
        if (!(method in number)) { number[method] = ++methods; name_at[methods] = method }
    }
    function log10(x) { return log(x) / log(10) }
    function floor_of(x) { return x < 0 && x != int(x) ? int(x) - 1 : int(x) }
    function x_of(t) { return left + (log10(t) - from) / (to - from) * wide }
    function y_of(e) { e = log10(e); return top + (e > 0 ? 0 : e < least ? 1 : e / least) * high }
    function text(x, y, size, anchor, what, extra) {
        gsub(/&/, "\\&amp;", what)
        printf "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%s\" text-anchor=\"%s\"%s>%s</text>\n", x, y, size, anchor, extra, what
    }
    function colour(method) {
        if (method ~ /^(float|double|bfloat16|half)$/) return "#1b1f24"
        if (method ~ /^(strassen|split|ozaki)$/) return "#57606a"
        if (method ~ /^(low_rank|tensor_train|toeplitz)/) return "#1f6fb2"
        if (method ~ /^(monte_carlo|sketched|compressed)/) return "#b3261e"
        return "#8a6100"
    }
    function mark(x, y, method) {
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"9\" fill=\"%s\" fill-opacity=\".85\"/>", x, y, colour(method)
        text(x, y + 4.4, 12.2, "middle", number[method], " class=\"in\"")
    }
    function axes(p,    e, t) {
        for (e = 0; e >= least; e -= 3) {
            printf "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", left, y_of(10 ^ e), left + wide
            text(left - 6, y_of(10 ^ e) + 4, 13, "end", "1e" e, " class=\"quiet\"")
        }
        for (t = from; t <= to; ++t) {
            printf "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x_of(10 ^ t), top, top + high
            text(x_of(10 ^ t), top + high + 17, 13, "middle", t < 3 ? 10 ^ t " ms" : 10 ^ (t - 3) " s", " class=\"quiet\"")
        }
        printf "<path class=\"nothing\" d=\"M%.1f %.1fH%.1f\"/>\n", left, y_of(nothing[p]), left + wide
        text(6, top - 46, 15, "start", title[p], " font-weight=\"bold\"")
    }
    function panel(p,    i, j, path, words, word, many, line, y) {
        axes(p)
        for (i = 1; i <= methods; ++i) {
            path = ""
            for (j = 1; j <= count[p]; ++j)
                if (method_at[p, j] == name_at[i])
                    path = path sprintf("%s%.1f %.1f", path ? "L" : "M", x_of(ms[p, j]), y_of(error[p, j]))
            if (path) printf "<path fill=\"none\" stroke=\"%s\" d=\"%s\"/>\n", colour(name_at[i]), path
        }
        for (j = 1; j <= count[p]; ++j) mark(x_of(ms[p, j]), y_of(error[p, j]), method_at[p, j])
        many = split(refused[p], words, "|")
        line = "refused:"
        y = top - 28
        for (i = 1; i <= many; ++i) { # in lines of at most 52 letters
            word = words[i] (i < many ? "," : "")
            if (length(line " " word) > 52) { text(6, y, 13, "start", line, " class=\"quiet\""); y += 17; line = word }
            else line = line " " word
        }
        if (many) text(6, y, 13, "start", line, " class=\"quiet\"")
    }
    END {
        if (!panels) { print "no products in the file" > "/dev/stderr"; exit 1 }
        least = -18; from = 99; to = -99; width = 420; left = 54; wide = 338; high = 300; each = high + 110
        for (p = 1; p <= panels; ++p)
            for (j = 1; j <= count[p]; ++j) {
                t = floor_of(log10(ms[p, j]))
                if (t < from) from = t
                if (t + 1 > to) to = t + 1
            }
        rows = int((methods + 1) / 2)
        base = 92 + panels * each
        height = base + rows * 24 + 10
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\"", width, height, width, height
        print " font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\" role=\"img\">"
        print "<title>Errors of exact, structured and approximate products against their times</title>"
        print "<style>text{fill:#1b1f24}.quiet{fill:#57606a}.in{fill:#fff}.grid{stroke:#d8dee4}" \
            ".nothing{stroke:#b3261e;stroke-dasharray:5 4;stroke-width:1.5}</style>"
        printf "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height
        text(6, 22, 16, "start", "Error against time, n = " last, " font-weight=\"bold\"")
        text(6, 42, 13, "start", "|C - A B| / |A| |B| in Frobenius norms; lower and", " class=\"quiet\"")
        text(6, 59, 13, "start", "further left is better; dashed: the error of C = 0", " class=\"quiet\"")
        for (p = 1; p <= panels; ++p) {
            top = 140 + (p - 1) * each
            panel(p)
        }
        for (i = 1; i <= methods; ++i) {
            x = 16 + int((i - 1) / rows) * 205
            y = base + (i - 1) % rows * 24
            mark(x, y, name_at[i])
            text(x + 15, y + 4.5, 13, "start", name_at[i])
        }
        print "</svg>"
    }' "$1"
