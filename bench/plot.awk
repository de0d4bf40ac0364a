# Draws panels, and tables, as one page of HTML or as one picture:
#   awk -v form=html|svg -f bench/plot.awk FILE
# The page needs no network and has no script. Panels are narrow, so that letters have 11 pixels on a telephone, too; the
# page sets them side by side where there is room. The words of a line of FILE are set apart by tabs:
#   title TEXT      note TEXT      section TEXT      head CELL...      row CELL...
#   panel TEXT      caption TEXT
#   x KIND TEXT     y KIND TEXT           the axes of the panel; KIND is log or linear
#   from X          to X                  the axis of X reaches there at least
#   line NAME STYLE                       STYLE is ours, peer, predicted, or dots: ours, not joined
#   at X Y [LABEL]                        a point of that line
#   slope NAME RATE TOP                   the least of RATE x and TOP, dashed, for all x of the panel
#   level NAME Y                          a dashed line at Y
# A name has one colour on the whole page. A predicted line has the colour of the line before it; one name
# stands for all of them.

function fmt(v,    a) {
    a = v < 0 ? -v : v
    if (a >= 1e9) return sprintf("%.3gG", v / 1e9)
    if (a >= 1e6) return sprintf("%.3gM", v / 1e6)
    if (a >= 1e4) return sprintf("%.3gk", v / 1e3)
    if (a > 0 && a < 1e-3) return sprintf("%.0e", v)
    return sprintf("%.4g", v)
}
function safe(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); return s }
function log10(v) { return log(v) / log(10) }
function place(v, kind) { return kind == "log" ? log10(v) : v + 0 }
function px(v) { return left + (place(v, xkind) - xlow) / (xhigh - xlow) * (right - left) }
function py(v) { return bottom - (place(v, ykind) - ylow) / (yhigh - ylow) * (bottom - top) }
function text(x, y, size, anchor, what, extra) {
    drawn = drawn sprintf("<text x=\"%.1f\" y=\"%.1f\" font-size=\"%s\" text-anchor=\"%s\"%s>%s</text>\n", x, y, size, anchor,
                          extra, safe(what))
}
# The same, at the first of so many places x_at[], y_at[] where it covers no other text of these.
function text_at(places, anchor, what, extra,    i, j, x, wide, hit) {
    wide = 8.2 * length(what)
    for (i = 1; i <= places; ++i) {
        x = x_at[i] - (anchor == "end" ? wide : anchor == "middle" ? wide / 2 : 0)
        hit = x < left - 2 || x + wide > width - 2 || y_at[i] < top + 12 || y_at[i] > bottom - 2
        for (j = 1; j <= boxes && !hit; ++j)
            hit = x < box_x[j] + box_wide[j] && box_x[j] < x + wide && y_at[i] - 13 < box_y[j] && box_y[j] - 13 < y_at[i]
        if (!hit) break
    }
    if (hit) return
    ++boxes; box_x[boxes] = x; box_y[boxes] = y_at[i]; box_wide[boxes] = wide
    text(x_at[i], y_at[i], 13, anchor, what, extra)
}
function path(d, extra) { drawn = drawn "<path d=\"" d "\"" extra "/>\n" }

# In lines of at most so many letters, below y; gives the y of the last.
function wrapped(what, y, letters, size, extra,    n, word, i, row) {
    n = split(what, word, " ")
    for (i = 1; i <= n; ++i) {
        row = row (row == "" ? "" : " ") word[i]
        if (i < n && length(row " " word[i + 1]) <= letters) continue
        y += int(size * 1.3)
        text(4, y, size, "start", row, extra)
        row = ""
    }
    return y
}

function colour_of(name, style) {
    if (style == "ours" || style == "dots") return "#c8401c"
    if (!(name in colours)) colours[name] = palette[colours_used++ % 7 + 1]
    return colours[name]
}

# The names of lines, with their colours; one name for all that are predicted.
function legend(y,    i, dashes) {
    legend_x = 4; y += 18
    for (i = 1; i <= lines; ++i)
        if (style[i] != "predicted") y = named(y, name[i], stroke_of(i))
        else dashes = name[i]
    if (dashes != "") y = named(y, dashes, " fill=\"none\" stroke=\"#57606a\" stroke-width=\"1.8\" stroke-dasharray=\"5 4\"")
    return y
}
function named(y, what, stroke,    wide) {
    wide = 36 + 7.8 * length(what)
    if (legend_x > 4 && legend_x + wide > width) { legend_x = 4; y += 18 }
    path(sprintf("M%.1f %.1fh16", legend_x, y - 4), stroke)
    text(legend_x + 21, y, 13, "start", what, "")
    legend_x += wide
    return y
}
function stroke_of(i) {
    return " fill=\"none\" stroke-linejoin=\"round\" stroke=\"" colour[i] "\" stroke-width=\"" (style[i] == "ours" || style[i] == "dots" ? 3 : 1.8) "\"" \
        (style[i] == "predicted" ? " stroke-dasharray=\"5 4\"" : "")
}

function nice_step(range,    step) {
    step = 10 ^ int(log10(range / 4) + 100) / 1e100
    if (range / step > 12) step *= 5
    else if (range / step > 6) step *= 2
    return step
}
# tick[1..ticks] between the ends of an axis.
function find_ticks(kind, low, high,    e, i, v, n, mantissa) {
    ticks = 0
    if (kind == "log") {
        n = split(high - low < 2.3 ? "1 2 5" : "1", mantissa, " ")
        for (e = int(low + 100) - 101; e <= high; ++e)
            for (i = 1; i <= n; ++i) {
                v = mantissa[i] * 10 ^ e
                if (log10(v) >= low - 1e-9 && log10(v) <= high + 1e-9) tick[++ticks] = v
            }
        if (ticks <= 6 || n > 1) return
        n = 0 # every second decade
        for (i = 1; i <= ticks; i += 2) tick[++n] = tick[i]
        ticks = n
        return
    }
    v = nice_step(high - low)
    for (e = int(low / v + 1e6) - 1e6; e * v <= high + 1e-9 * v; ++e) if (e * v >= low - 1e-9 * v) tick[++ticks] = e * v
}

function extent(    i, v) {
    xlow = xfrom == "" ? 1e99 : place(xfrom, xkind); xhigh = xto == "" ? -1e99 : place(xto, xkind)
    ylow = 1e99; yhigh = -1e99
    for (i = 1; i <= points; ++i) {
        v = place(at_x[i], xkind); if (v < xlow) xlow = v; if (v > xhigh) xhigh = v
        v = place(at_y[i], ykind); if (v < ylow) ylow = v; if (v > yhigh) yhigh = v
    }
    for (i = 1; i <= slopes; ++i) { v = place(slope_top[i], ykind); if (v > yhigh) yhigh = v }
    for (i = 1; i <= levels; ++i) { v = place(level_y[i], ykind); if (v > yhigh) yhigh = v; if (v < ylow) ylow = v }
    if (ykind == "linear" && ylow > 0 && ylow < 0.6 * yhigh) ylow = 0
    if (ykind == "linear" && yhigh == ylow) yhigh = ylow + 1
    if (xkind == "linear" && xhigh == xlow) xhigh = xlow + 1
    xlow -= 0.04 * (xhigh - xlow); xhigh += 0.04 * (xhigh - xlow)
    yhigh += 0.1 * (yhigh - ylow)
    if (ylow != 0 || ykind == "log") ylow -= 0.1 * (yhigh - ylow)
}

function axes(    i) {
    find_ticks(ykind, ylow, yhigh)
    for (i = 1; i <= ticks; ++i) {
        path(sprintf("M%d %.1fH%d", left, py(tick[i]), right), " class=\"grid\"")
        text(left - 6, py(tick[i]) + 4.5, 13, "end", fmt(tick[i]), " class=\"quiet\"")
    }
    find_ticks(xkind, xlow, xhigh)
    for (i = 1; i <= ticks; ++i) {
        path(sprintf("M%.1f %dV%d", px(tick[i]), top, bottom), " class=\"grid\"")
        text(px(tick[i]), bottom + 17, 13, "middle", fmt(tick[i]), " class=\"quiet\"")
    }
    text((left + right) / 2, bottom + 36, 13, "middle", xlabel, " class=\"quiet\"")
}

# A dashed line from the left or the lower edge up to its top.
function slope(i,    x0, y0, x1) {
    x0 = exp(xlow * log(10)); y0 = slope_rate[i] * x0
    if (log10(y0) < ylow) { y0 = exp(ylow * log(10)); x0 = y0 / slope_rate[i] }
    x1 = slope_top[i] / slope_rate[i]
    if (x1 <= x0) return # as fast as the arithmetic everywhere
    path(sprintf("M%.1f %.1fL%.1f %.1f", px(x0), py(y0), px(x1), py(slope_top[i])), " class=\"roof\"")
    for (y0 = 1; y0 <= 9; ++y0) { # its name beside it, as far down as there is room
        x_at[y0] = px(x0) + (px(x1) - px(x0)) * (y0 - 1) / 10 + 12
        y_at[y0] = py(slope_rate[i] * x0) + (py(slope_top[i]) - py(slope_rate[i] * x0)) * (y0 - 1) / 10 - 2
    }
    text_at(9, "start", slope_name[i], " class=\"quiet\"")
}

function line(i,    j, d, first, dots) {
    first = 1
    for (j = 1; j <= points; ++j) if (of[j] == i) {
        d = d sprintf("%s%.1f %.1f", first ? "M" : "L", px(at_x[j]), py(at_y[j]))
        first = 0
        if (style[i] != "predicted")
            dots = dots sprintf("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"%s\"/>\n", px(at_x[j]), py(at_y[j]),
                                style[i] == "peer" ? 2.4 : 3.6, colour[i])
        if (at_label[j] != "") labels = labels j " "
    }
    if (style[i] != "dots") path(d, stroke_of(i))
    drawn = drawn dots
}
function label_points(    n, j, i, x, anchor) {
    n = split(labels, j, " ")
    for (i = 1; i <= n; ++i) {
        x = px(at_x[j[i]])
        anchor = x > right - 30 ? "end" : x < left + 30 ? "start" : "middle"
        x_at[1] = x_at[2] = x_at[3] = x
        y_at[1] = py(at_y[j[i]]) + 18; y_at[2] = y_at[1] - 26; y_at[3] = y_at[1] + 14
        text_at(3, anchor, at_label[j[i]], " font-weight=\"bold\"")
    }
    labels = ""
}

# The panel that was read; its height goes to `height`.
function draw(    y, i) {
    drawn = ""
    text(4, 16, 15, "start", panel, " font-weight=\"bold\"")
    y = 18
    if (caption != "") y = wrapped(caption, y, 54, 13, " class=\"quiet\"")
    y = legend(y)
    text(4, y + 20, 13, "start", ylabel, " class=\"quiet\"")
    top = y + 30; bottom = top + 240; height = bottom + 46
    boxes = 0
    extent()
    axes()
    for (i = 1; i <= levels; ++i) {
        path(sprintf("M%d %.1fH%d", left, py(level_y[i]), right), " class=\"roof\"")
        x_at[1] = right - 4; y_at[1] = py(level_y[i]) - 5; y_at[2] = y_at[1] + 19; x_at[2] = x_at[1]
        text_at(2, "end", level_name[i], " class=\"quiet\"")
    }
    for (i = lines; i >= 1; --i) if (style[i] != "ours") line(i)
    for (i = lines; i >= 1; --i) if (style[i] == "ours") line(i)
    label_points()
    for (i = 1; i <= slopes; ++i) slope(i)
}

function svg(    open) {
    open = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\"><title>%s</title>\n%s</svg>\n"
    return sprintf(open, width, height, safe(panel), drawn)
}

function end_panel() {
    if (panel == "") return
    draw()
    if (form == "html") {
        if (!in_panels) { body = body "<div class=panels>\n"; in_panels = 1 }
        body = body "<figure>" svg() "</figure>\n"
    } else {
        body = body "<g transform=\"translate(0 " total ")\">\n" drawn "</g>\n"
        total += height + 14
    }
    panel = caption = ""
    lines = points = slopes = levels = 0
}
function end_table() { if (in_table) { body = body "</table></div>\n"; in_table = 0 } }
function end_panels() { end_panel(); if (in_panels) { body = body "</div>\n"; in_panels = 0 } end_table() }

# A heading of the picture.
function heading(what, size) {
    drawn = ""
    total = wrapped(what, total + 7, int(680 / size), size, " font-weight=\"bold\"") + 10
    body = body drawn
}

BEGIN {
    FS = "\t"
    if (form == "") form = "html"
    width = 420; left = 52; right = 412; total = 0
    split("#1f6fb2 #2f855a #805ad5 #a16207 #0e7c86 #b83280 #57606a", palette, " ")
    css = "text{fill:#1b1f24;font-family:\"DejaVu Sans\",Verdana,Helvetica,Arial,sans-serif;paint-order:stroke;stroke:#fff;" \
        "stroke-width:3px;stroke-linejoin:round}text.quiet{fill:#57606a}.grid{stroke:#e2e6ea}" \
        ".roof{stroke:#57606a;stroke-width:1.3;stroke-dasharray:5 4;fill:none}"
}
$1 == "title" { title = $2; if (form == "svg") heading($2, 17); next }
$1 == "note" {
    end_panels()
    if (form == "html") body = body "<p>" safe($2) "</p>\n"
    else { drawn = ""; total = wrapped($2, total, 54, 13, " class=\"quiet\"") + 10; body = body drawn }
    next
}
$1 == "section" {
    end_panels()
    if (form == "html") body = body "<h2>" safe($2) "</h2>\n"
    else heading($2, 16)
    next
}
$1 == "head" || $1 == "row" {
    if (form != "html") next # the panels are the picture
    if (!in_table) { end_panels(); body = body "<div class=scroll><table>\n"; in_table = 1 }
    body = body "<tr>"
    for (i = 2; i <= NF; ++i) body = body ($1 == "head" ? "<th>" : "<td>") safe($i)
    body = body "</tr>\n"
    next
}
$1 == "panel" { if (in_table) end_table(); end_panel(); panel = $2; xkind = ykind = "log"; xfrom = xto = ""; next }
$1 == "caption" { caption = $2; next }
$1 == "x" { xkind = $2; xlabel = $3; next }
$1 == "from" { xfrom = $2; next }
$1 == "to" { xto = $2; next }
$1 == "y" { ykind = $2; ylabel = $3; next }
$1 == "line" {
    ++lines
    name[lines] = $2; style[lines] = $3
    colour[lines] = $3 == "predicted" && lines > 1 ? colour[lines - 1] : colour_of($2, $3)
    next
}
$1 == "at" { ++points; of[points] = lines; at_x[points] = $2; at_y[points] = $3; at_label[points] = $4; next }
$1 == "slope" { ++slopes; slope_name[slopes] = $2; slope_rate[slopes] = $3 + 0; slope_top[slopes] = $4 + 0; next }
$1 == "level" { ++levels; level_name[levels] = $2; level_y[levels] = $3 + 0; next }
NF { print "plot.awk: line " NR " is nothing to draw: " $0 > "/dev/stderr"; failed = 1; exit 1 }
END {
    if (failed) exit 1
    end_panels()
    if (form == "svg") {
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", width,
            total, width, total
        printf "<title>%s</title>\n<style>%s</style>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n%s</svg>\n", safe(title),
            css, width, total, body
        exit
    }
    print "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">"
    printf "<title>%s</title><style>%s", safe(title), css
    print "*{box-sizing:border-box}body{margin:0;background:#fff;color:#1b1f24;font:15px/1.5 system-ui,sans-serif}" \
        "main{max-width:1400px;margin:0 auto;padding:20px 12px 60px}h1{font-size:24px;margin:0 0 8px}h2{font-size:19px;margin:32px 0 8px}" \
        "p{margin:0 0 10px;max-width:80ch}figure{margin:0}svg{display:block;width:100%;height:auto;max-width:520px}" \
        ".panels{display:grid;gap:20px 24px;grid-template-columns:repeat(auto-fill,minmax(min(376px,100%),1fr))}" \
        ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:14px}td,th{padding:4px 10px;text-align:right;" \
        "border-bottom:1px solid #e2e6ea;white-space:nowrap}td:first-child,th:first-child{text-align:left}</style>"
    printf "<main><h1>%s</h1>\n%s</main></html>\n", safe(title), body
}
