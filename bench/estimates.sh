#!/bin/sh
# bench/estimates.sh FILE...: the seconds that estimate() predicts against those that were measured, as SVG on standard
# output. FILE is what --data of a benchmark program wrote. The lines are those of equal times and of a factor of two.
set -eu
export LC_ALL=C
cat "$@" | awk '
    function x_of(us) { return left + (log(us) / log(10) - low) / (high - low) * (right - left) }
    function y_of(us) { return bottom - (log(us) / log(10) - low) / (high - low) * (bottom - top) }
    function text(x, y, anchor, what) {
        printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, what
    }
    function ray(factor, extra) {
        printf "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#888\"%s/>\n", x_of(10 ^ low * (factor < 1 ? 1 / factor : 1)),
            y_of(10 ^ low * (factor < 1 ? 1 : factor)), x_of(10 ^ high * (factor < 1 ? 1 : 1 / factor)),
            y_of(10 ^ high * (factor < 1 ? factor : 1)), extra
    }
    BEGIN {
        left = 62; right = 392; top = 60; bottom = 410
        low = 99; high = -99
        split("#2b6cb0 #c05621 #2f855a #805ad5", colours, " ")
    }
    NF >= 6 && $NF > 0 && $(NF - 1) > 0 {
        measured = $(NF - 1); predicted = $NF
        name = $1
        for (i = 2; i <= NF - 5; ++i) name = name " " $i
        if (!(name in series)) { order[++names] = name; series[name] = "" }
        at[++points] = name; m[points] = measured; p[points] = predicted
        for (i = 0; i < 2; ++i) {
            e = log(i ? measured : predicted) / log(10)
            if (e < low) low = e
            if (e > high) high = e
        }
    }
    END {
        if (!points) { print "no line has a prediction" > "/dev/stderr"; exit 1 }
        low = int(low + 100) - 100; high = int(high + 100) - 99
        for (i = 1; i <= points; ++i)
            series[at[i]] = series[at[i]] sprintf("M%.1f %.1fh0", x_of(m[i]), y_of(p[i]))
        print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 420 470\" width=\"420\" height=\"470\" font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#444\">"
        print "<rect width=\"420\" height=\"470\" fill=\"#fff\"/>"
        for (e = low; e <= high; ++e) {
            label = e < 3 ? 10 ^ e " us" : e < 6 ? 10 ^ (e - 3) " ms" : 10 ^ (e - 6) " s"
            printf "<path d=\"M%.1f %dV%dM%d %.1fH%d\" stroke=\"#e4e4e4\"/>\n", x_of(10 ^ e), top, bottom, left,
                y_of(10 ^ e), right
            text(x_of(10 ^ e), bottom + 22, "middle", label)
            text(left - 8, y_of(10 ^ e) + 5, "end", label)
        }
        ray(1, ""); ray(2, " stroke-dasharray=\"4 4\""); ray(0.5, " stroke-dasharray=\"4 4\"")
        for (i = 1; i <= names; ++i) {
            printf "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-opacity=\".55\" stroke-width=\"5\" stroke-linecap=\"round\"/>\n",
                series[order[i]], colours[(i - 1) % 4 + 1]
            x = 14 + 205 * ((i - 1) % 2); y = 18 + 22 * int((i - 1) / 2)
            printf "<path d=\"M%d %dh0\" stroke=\"%s\" stroke-width=\"10\" stroke-linecap=\"round\"/>\n", x, y,
                colours[(i - 1) % 4 + 1]
            text(x + 12, y + 5, "start", order[i])
        }
        text(210, bottom + 46, "middle", "measured; upwards: predicted by estimate()")
        print "</svg>"
    }'
