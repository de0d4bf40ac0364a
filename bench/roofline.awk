# Says what is to be drawn of a roofline: awk -f bench/roofline.awk DATA | awk -f bench/plot.awk. The words of a line of DATA
# are set apart by " | ":
#   about KEY VALUE
#   unit SETTING TYPE NAME RATE              arithmetic at most, in GFLOP/s
#   level SETTING NAME RATE                  reads from a memory level at most, in GB/s; the fastest first
#   point SETTING TYPE SHAPES SIZE CONTENDER ROLE FLOPS BYTES RATE
#   left out SETTING TYPE SHAPES SIZE WHY
# Lines before the first of these are words about the run.
function add(list, what) { if (!((list, what) in known)) { known[list, what] = 1; order[list, ++count[list]] = what } }
function short(v) { return v < 100 ? sprintf("%.3g", v) : sprintf("%.0f", v) }

BEGIN { FS = " [|] " }
$1 == "about" { about[++abouts] = $2 ": " $3; if ($2 == "processor" || $2 == "device") machine = $3; next }
$1 == "unit" { unit[$2, $3] = $4; peak[$2, $3] = $5 }
$1 == "unit" && $5 >= 1e4 { tera[$2] = 1 } # TFLOP/s are easier to read
$1 == "unit" { next }
$1 == "level" { add("level " $2, $3); bandwidth[$2, $3] = $4; next }
$1 == "point" {
    add("setting", $2); add("type " $2, $3); add("shapes " $2 $3, $4); key = $2 SUBSEP $3 SUBSEP $4
    add("contender " key, $6); role[$6] = $7
    n = ++points[key, $6]
    if (!(($2, $3) in most_x) || $8 / $9 > most_x[$2, $3]) most_x[$2, $3] = $8 / $9
    x[key, $6, n] = $8 / $9; y[key, $6, n] = $10; size[key, $6, n] = $5
    next
}
$1 == "left out" { key = $6 " in " $3; if (!(key in out)) { out[key] = 1; left_out = left_out (left_out == "" ? "" : "; ") key } next }
END {
    print "title\tRoofline: " machine
    print "note\tEach point is a product. Its height is its speed; its place from left to right is its work for a byte of A, B " \
        "and C, where each element counts once. Dashed lines are what was measured as the most that the machine can do: reading " \
        "from a level of memory, and multiply-adds from registers. A product whose operands come from that level is at or below " \
        "that line. Numbers at points are the size of the product."
    for (i = 1; i <= count["setting"]; ++i) {
        s = order["setting", i]
        for (j = 1; j <= count["type " s]; ++j) {
            t = order["type " s, j]
            print "section\t" t (s == "device" ? "" : ", " s)
            for (f = 1; f <= count["shapes " s t]; ++f) panel(s, t, order["shapes " s t, f])
        }
    }
    print "section\tThe run"
    for (i = 1; i <= abouts; ++i) print "note\t" about[i]
    if (left_out != "") print "note\tLeft out: " left_out
}
function panel(s, t, shapes,    key, l, c, who, n, i, most, over) {
    over = s in tera ? 1000 : 1
    key = s SUBSEP t SUBSEP shapes
    print "panel\t" shapes ", " t (s == "device" ? "" : ", " s)
    most = ""
    for (l = 1; l <= count["level " s]; ++l)
        most = most (l > 1 ? ", " : "reads in GB/s: ") order["level " s, l] " " short(bandwidth[s, order["level " s, l]])
    if (most != "") print "caption\t" most
    print "x\tlog\twork for a byte, FLOP\nfrom\t0.25\nto\t" most_x[s, t]
    print "y\tlog\t" (over > 1 ? "T" : "G") (t == "int8" ? "op/s" : "FLOP/s")
    if (peak[s, t] > 0) {
        print "level\t" unit[s, t] " " short(peak[s, t] / over) "\t" peak[s, t] / over
        for (l = 1; l <= count["level " s]; ++l)
            print "slope\t" (order["level " s, l] == "shared memory" ? "shared" : order["level " s, l]) "\t" bandwidth[s, order["level " s, l]] / over "\t" peak[s, t] / over
    }
    for (c = 1; c <= count["contender " key]; ++c) {
        who = order["contender " key, c]
        print "line\t" who "\t" (role[who] == "library" ? "ours" : "peer")
        n = points[key, who]
        for (i = 1; i <= n; ++i)
            print "at\t" x[key, who, i] "\t" y[key, who, i] / over "\t" \
                (role[who] == "library" && (i == 1 || i == n) ? size[key, who, i] : "")
    }
}
