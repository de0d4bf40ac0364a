# Says what is to be drawn of crossovers: awk -f bench/crossovers.awk DATA | awk -f bench/plot.awk. The words of a line of DATA
# are set apart by " | ":
#   about KEY VALUE
#   point WHAT LINE X MEASURED PREDICTED [NOTE]     WHAT is a kind, a comma and what it is of; bench/crossovers.hpp has them
function add(list, what) { if (!((list, what) in known)) { known[list, what] = 1; order[list, ++count[list]] = what } }
BEGIN {
    FS = " [|] "
    x_label["strassen"] = "side of the matrices"; y_label["strassen"] = "time over that of the product without levels"
    x_label["error of emulation"] = "slices or moduli"; y_label["error of emulation"] = "error over |A||B|"
    x_label["time of emulation"] = "slices or moduli"; y_label["time of emulation"] = "time over that of the native product"
    x_label["sparse"] = "share of elements that are not zero"; y_label["sparse"] = "time over that of the dense product"
    x_label["out of core"] = "memory of the device over the bytes of A, B and C"; y_label["out of core"] = "GFLOP/s"
    head["strassen"] = "Levels of Strassen's product"
    head["error of emulation"] = "Error of emulation"
    head["time of emulation"] = "Time of emulation"
    head["sparse"] = "Sparse times dense"
    head["out of core"] = "Less memory than the operands take"
    says["strassen"] = "Below 1 so many levels are faster than the product of the base."
    says["error of emulation"] = "Double and float by products of int8, which slices or moduli count. The dashed line is the bound " \
        "that error_bound() states; the level is the error of the native product."
    says["time of emulation"] = "The same products. Below 1 emulation is faster than the native product."
    says["sparse"] = "Below 1 the csr is faster than the same matrix with its zeros."
    says["out of core"] = "The operands are on the host; the level is the speed of the product with all of them on the device."
}
$1 == "about" { about[++abouts] = $2 ": " $3; if ($2 == "device") machine = $3; next }
$1 == "point" {
    kind = substr($2, 1, index($2, ",") - 1)
    add("kind", kind); add("what " kind, $2); add("line " $2, $3)
    n = ++points[$2, $3]; x[$2, $3, n] = $4; seen[$2, $3, n] = $5; told[$2, $3, n] = $6; note[$2, $3, n] = $7
}
END {
    print "title\tCrossovers: " machine
    print "note\tWhere one way to multiply becomes faster than another. A solid line is what was measured, as the median over " \
        "rounds that run all ways in turn; the dashed line of its colour is what estimate() predicts, from counts, without " \
        "a measurement."
    for (k = 1; k <= count["kind"]; ++k) {
        kind = order["kind", k]
        print "section\t" head[kind] "\nnote\t" says[kind]
        for (w = 1; w <= count["what " kind]; ++w) panel(kind, order["what " kind, w])
    }
    if (machine !~ /thread/) places()
    print "section\tThe run"
    for (i = 1; i <= abouts; ++i) print "note\t" about[i]
}
function panel(kind, what,    l, line, i) {
    print "panel\t" what
    print "x\t" (kind ~ /emulation/ ? "linear" : "log") "\t" x_label[kind]
    print "y\tlog\t" y_label[kind]
    if (kind == "strassen" || kind == "sparse" || kind == "time of emulation") print "level\tas fast\t1"
    for (l = 1; l <= count["line " what]; ++l) {
        line = order["line " what, l]
        if (line == "native" || line == "on the device") {
            if (line == "native" && kind ~ /^time/) continue
            print "level\t" line "\t" seen[what, line, 1]
            continue
        }
        print "line\t" line "\t" (l == 1 || kind == "sparse" || kind == "out of core" ? "ours" : "peer")
        for (i = 1; i <= points[what, line]; ++i) print "at\t" x[what, line, i] "\t" seen[what, line, i]
        print "line\t" (kind ~ /^error/ ? "bound" : "predicted") "\tpredicted"
        for (i = 1; i <= points[what, line]; ++i) print "at\t" x[what, line, i] "\t" told[what, line, i]
    }
}
# How out_of_core cuts a product for each size of memory.
function places(    what, i, line) {
    what = order["what out of core", 1]
    if (what == "") return
    print "section\tThe blocks of out_of_core"
    print "head\tmemory over A, B and C\tGFLOP/s\tpredicted\twhat runs"
    line = "out_of_core"
    for (i = 1; i <= points[what, line]; ++i)
        print "row\t" x[what, line, i] "\t" sprintf("%.0f", seen[what, line, i]) "\t" sprintf("%.0f", told[what, line, i]) "\t" \
            note[what, line, i]
}
