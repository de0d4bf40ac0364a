# Says what is to be drawn of the kernels for gfx803: awk -f bench/gfx803.awk DATA | awk -f bench/plot.awk. DATA is what
# tests/kernels/gfx803.sh prints, which states the model that predicts the share of the peak.
#
# The card is an RX 590: 36 compute units of 64 lanes at 1545 MHz, 256 GB/s. A multiply-add counts two operations, and the
# local memory of a unit moves 128 bytes a clock.
function kernel(name) { sub(/^gfx803-(s-|point-)?/, "", name); sub(/-(rows|turned)$/, "", name); return name }
function sides(name,    part) { split(name, part, "x"); m = part[1] + 0; n = part[2] + 0; return m > 0 && n > 0 }
function least(a, b) { return a < b ? a : b }
BEGIN { clock = 1.545; units = 36; peak = units * 64 * 2 * clock; shared = units * 128 * clock; memory = 256 }
/^64 multiply-adds of pairs/ { pairs = $0 }
$1 ~ /^gfx803-.*-turned$/ || $1 !~ /^gfx803-/ { next } # as those for rows
NF == 11 {
    name = kernel($1)
    if (!sides(name)) next # a variant of the main tile that only ./dev check compiles
    ++kernels
    of[kernels] = name; predicted[kernels] = peak * ($11 + 0) / 100
    from_memory[kernels] = m * n / (2 * (m + n)); from_shared[kernels] = $8 / $9
}
NF == 11 || NF == 6 {
    if (NF == 11) share = sprintf("%s\t%s\t%s", $8, $9, $11)
    else share = "\t\t"
    name = $1; sub(/^gfx803-/, "", name); sub(/-rows$/, "", name)
    sub(/^s-/, "float ", name); sub(/^d-/, "double ", name); sub(/^c-/, "complex float ", name); sub(/^z-/, "complex double ", name)
    if (name ~ /^point-/) next
    row[++rows] = name "\t" $2 "\t" $3 "\t" $5 "\t" $6 "\t" sprintf("%.0f%%", $6 * 10) "\t" share
}
END {
    print "title\tPredicted, not measured: kernels for gfx803 on a Radeon RX 590"
    print "note\tNo such card was at hand. The kernels were compiled for it, and the instructions of their main loops were " \
        "counted; tests/kernels/gfx803.sh has the model. The card has 36 compute units of 64 lanes at 1545 MHz, so at most " \
        sprintf("%.0f", peak) " GFLOP/s in float, and reads 256 GB/s from memory."
    print "section\tThe ceilings"
    print "panel\tmemory, float, predicted"
    print "caption\tEach tile of C reads its rows of A and its columns of B from memory once; caches are left out."
    print "x\tlog\twork for a byte from memory, FLOP"
    print "y\tlog\tGFLOP/s"
    print "level\tarithmetic " sprintf("%.0f", peak) "\t" peak
    print "slope\tmemory, 256 GB/s\t" memory "\t" peak
    print "line\tour tiles, predicted\tdots"
    for (i = kernels; i >= 1; --i)
        print "at\t" from_memory[i] "\t" least(predicted[i], memory * from_memory[i]) "\t" of[i]
    print "line\ta tile of 16 x 16\tpeer\nat\t4\t" memory * 4 "\t1024"
    print "line\tno tile\tpeer\nat\t0.25\t" memory / 4 "\t64"
    print "panel\tshared memory, float, predicted"
    print "caption\tBytes that the main loop reads from and writes to shared memory (LDS), of its instructions."
    print "x\tlog\twork for a byte of shared memory, FLOP"
    print "y\tlog\tGFLOP/s"
    print "level\tarithmetic " sprintf("%.0f", peak) "\t" peak
    print "slope\tLDS, " sprintf("%.0f", shared) " GB/s\t" shared "\t" peak
    print "line\tour tiles, predicted\tdots"
    for (i = kernels; i >= 1; --i) print "at\t" from_shared[i] "\t" predicted[i] "\t" of[i]
    print "line\tone multiply-add for two floats read\tpeer\nat\t0.25\t" shared / 4 "\t" sprintf("%.0f", shared / 4)
    print "section\tThree ceilings of the first design"
    print "note\t64 GFLOP/s: without tiles a multiply-add reads two floats from memory, 2 operations for 8 bytes. 256 GB/s " \
        "times 0.25 is 64."
    print "note\t1024 GFLOP/s: with tiles of 16 x 16 in shared memory each float that is read serves 16 multiply-adds, 4 " \
        "operations for a byte. 256 GB/s times 4 is 1024. Tiles of 128 x 128 do 32 operations for a byte: memory then allows " \
        "8192, more than the arithmetic."
    print "note\t542 GFLOP/s: no file of this repository says how that was counted, and neither the arithmetic, the memory nor " \
        "the shared memory of the card gives it alone. It is 7.6% of the arithmetic and 0.53 of the ceiling of tiles of 16 x 16. " \
        "One count comes to it: 1024 from memory and then, not at the same time, one multiply-add for two floats from shared " \
        "memory, which is 1152 at a clock of 1 GHz; 1 / (1 / 1024 + 1 / 1152) is 542. At the 1545 MHz of this card the same " \
        "count gives " sprintf("%.0f", 1 / (1 / (4 * memory) + 4 / shared)) "."
    if (pairs != "") print "section\tHalf precision\nnote\tInstructions of " pairs ". Half gains bytes here, and no arithmetic."
    print "section\tRegisters, shared memory and occupancy"
    print "note\tA lane may have 256 registers (VGPRs) and a unit has 65536 bytes of shared memory; together they say how many waves, " \
        "of at most 10, a SIMD holds, which is the occupancy. A MAC is a multiply-add, VALU any vector instruction."
    print "head\tkernel\tregisters\tspilled\tshared bytes\twaves\toccupancy\tMAC/VALU\tLDS/VALU\tpredicted, of the peak"
    for (i = 1; i <= rows; ++i) print "row\t" row[i]
}
