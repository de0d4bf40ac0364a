# The selection matrix as a table of Markdown: awk -f bench/matrix.awk DATA. The words of a line of DATA are set apart by " | ":
#   about KEY VALUE
#   candidate SHAPES SIDES TYPE ACCURACY POLICY PREDICTED MEASURED     seconds
# For results as accurate as the native product's in each element the candidates are those of accuracy "native"; where an error
# in the norm of the whole is allowed, all of them. The one with the least predicted time is chosen.
function us(s) { s *= 1e6; return s < 10 ? sprintf("%.2f", s) : s < 100 ? sprintf("%.1f", s) : sprintf("%.0f", s) }
function judge(accuracy,    i, chosen, best) {
    chosen = best = 0
    for (i = 1; i <= n; ++i) {
        if (accuracy == "native" && allows[i] != "native") continue
        if (!chosen || predicted[i] < predicted[chosen]) chosen = i
        if (!best || measured[i] < measured[best]) best = i
    }
    regret = measured[chosen] / measured[best]
    printf "| %s | %s | %s | %s | %s | %s | %s | %.2f |\n", shape, type, (accuracy == "native" ? "each element" : "norm"),
        policy[chosen], us(predicted[chosen]), us(measured[chosen]), (regret > 1.02 ? policy[best] : "the same"), regret
    logs += log(regret); ++cases
    if (regret > worst) worst = regret
}
function finish() {
    if (n) { judge("native"); judge("normwise") }
    n = 0
}
BEGIN {
    FS = " [|] "
    print "| shape | type | accuracy | chosen | predicted, us | measured, us | fastest | regret |"
    print "| --- | --- | --- | --- | ---: | ---: | --- | ---: |"
}
$1 != "candidate" { next }
{
    if ($2 " " $4 != last) finish()
    last = $2 " " $4
    shape = $2 ", " $3; type = $4
    ++n; allows[n] = $5; policy[n] = $6; predicted[n] = $7 + 0; measured[n] = $8 + 0
}
END {
    finish()
    if (cases) printf "\nRegret over %d cells: geometric mean %.2f, worst %.2f.\n", cases, exp(logs / cases), worst
}
