// The text of the kernels of transforms on devices, in the dialect. It is written for a length when a kernel is
// compiled, with unrolled steps and with tables of roots of unity: computed in double, rounded once. They are constants
// of the text, or what the backend keeps with the compiled kernel; no call fills them, they need no lock, they stay as
// long as the compiled kernel does, and a graph may capture any call after the first. Roots between the launches of a
// long transform are products of two or three factors from short tables.
//
// A work-item keeps some points of a transform in registers. Between steps (Stockham's algorithm) work-items exchange
// numbers by shared memory. Each operation rounds as it is written (device_kernel::exact), so that the result of a
// transform does not depend on the layout.
#pragma once

#include "../../device/dialect.hpp"
#include "kernel_text.hpp"
#include "work.hpp"

STRATAGEMM_BEGIN

// Writes the text for a length.
template <class R>
class dft_writer {
public:
    // numbers: points of the launch; flags; the order of the roots between launches; points of the whole transform;
    // length of the chirp. apart: where tables go; null: into the text.
    dft_writer(text_numbers const& numbers, text_tables* apart)
        : apart_(apart), points_(static_cast<int>(numbers.at[0])), flags_(numbers.at[1]),
          order_(numbers.at[2]), all_(numbers.at[3]), chirp_(numbers.at[4]), work_(points_, flags_) {}

    std::string write() {
        begin();
        text_ += std::string(dft_places_text) + dft_memory_text;
        if (kind_of(flags_) != dft_kind::whole)
            text_ += std::string(dft_kinds_text) + (has(dft_sampled) ? dft_sampled_text : "") +
                     text_of(kind_of(flags_));
        kernel();
        return std::move(text_);
    }

protected:
    // Arithmetic and tables, which kernels of products by transforms have, too.
    void begin() {
        constants();
        text_ += dft_primitives_text;
        for (int i = 0; i < work_.steps.count; ++i) {
            bool known = false;
            for (int j = 0; j < i; ++j) known |= work_.steps.radix[j] == work_.steps.radix[i];
            if (!known) butterfly(dft_radix::of(work_.steps.radix[i]));
        }
        tables();
    }
    // Which work-item has which number in which register.
    struct layout {
        enum kind {
            reads,
            writes,
            flat,
            pairs
        } of;                // pairs: elements k and h - k, of which one is 2s, the other 2s + 1
        int step = 0;        // of reads and writes
        bool across = false; // of flat and pairs: elements of neighbouring transforms are neighbours
        bool paired = false; // of reads and writes: butterflies 2j and 2j + 1 are of one work-item
    };

    static std::string number(double x) {
        char text[48];
        __builtin_snprintf(text, sizeof(text), "%a%s", static_cast<double>(static_cast<R>(x)),
                           sizeof(R) == 4 ? "f" : "");
        return text;
    }
    static std::string of(index_t x) { return std::to_string(x); }
    bool has(index_t flag) const { return (flags_ & flag) != 0; }
    void define(char const* name, index_t value) {
        text_ += std::string("#define ") + name + ' ' + std::to_string(value) + '\n';
    }
    void constants() {
        for (int const r : {3, 5, 7})
            for (int k = 1; k <= r / 2; ++k) {
                auto const w = root_of_unity(k, r);
                std::string const name = of(r) + '_' + of(k) + ' ';
                text_ += "#define C" + name + number(w.re) + "\n#define S" + name + number(-w.im) + '\n';
            }
        define("POINTS", points_), define("CHIRP", chirp_);
        text_ += "#define ALL_POINTS ((index)" + of(chirp_ > 0 ? chirp_ : all_) + ")\n#define SPAN ((index)" +
                 of(all_ / points_) + ")\n#define LEAD ((index)" + of(order_ / points_) + ")\n";
        define("IN_MOVED", has(dft_in_moved)), define("OUT_MOVED", has(dft_out_moved));
        define("IN_ALIGNED", has(dft_in_aligned | dft_in_inside));
        define("OUT_ALIGNED", has(dft_out_aligned | dft_out_inside));
        define("COLUMNS_FIRST", has(dft_columns_first));
        define("IN_UNIT", has(dft_in_unit)), define("OUT_UNIT", has(dft_out_unit));
        define("IN_REAL", has(dft_real)), define("ENDS", has(dft_ends));
        define("IN_INSIDE", has(dft_in_inside)), define("OUT_INSIDE", has(dft_out_inside));
        define("IN_CHIRP", has(dft_in_chirp)), define("OUT_CHIRP", has(dft_out_chirp));
        // C may be the memory that other work-items of the group have read X from.
        text_ += "#define STEP_BARRIER() " +
                 std::string(work_.in_warp() ? "WARP_OR_GROUP()" : "BARRIER_OF_ALL()") +
                 "\n#if SHUFFLES\n#define WARP_OR_GROUP() WARP_BARRIER()\n#else\n"
                 "#define WARP_OR_GROUP() BARRIER_OF_ALL()\n#endif\n";
    }
    // x[at] times exp(-2 pi i k / n)
    void turn(int at, int k, int n) {
        std::string const x = "x[" + of(at) + "]", y = "y[" + of(at) + "]";
        if (k % n == 0) return;
        auto const w = root_of_unity(k % n, n);
        if (8 * k % n != 0) {
            text_ += "    TURN(" + x + ", " + y + ", " + number(w.re) + ", " + number(w.im) + ");\n";
            return;
        }
        int const eighth = 8 * (k % n) / n;
        std::string const h = number(0.70710678118654752440);
        text_ += "    { REAL const u = " + x + ", v = " + y + "; ";
        switch (eighth) {
        case 1: text_ += x + " = " + h + " * (u + v); " + y + " = " + h + " * (v - u); }\n"; break;
        case 2: text_ += x + " = v; " + y + " = -u; }\n"; break;
        case 3: text_ += x + " = " + h + " * (v - u); " + y + " = -(" + h + " * (u + v)); }\n"; break;
        case 4: text_ += x + " = -u; " + y + " = -v; }\n"; break;
        case 5: text_ += x + " = -(" + h + " * (u + v)); " + y + " = " + h + " * (u - v); }\n"; break;
        case 6: text_ += x + " = -v; " + y + " = u; }\n"; break;
        default: text_ += x + " = " + h + " * (u - v); " + y + " = " + h + " * (u + v); }\n"; break;
        }
    }
    // Result k of a butterfly is at (k % first) * second + k / first.
    void butterfly(dft_radix const& r) {
        auto const call = [&](int radix, int at, int step) {
            if (radix > 1)
                text_ +=
                    "    dft_" + of(radix) + "(x + " + of(at) + ", y + " + of(at) + ", " + of(step) + ");\n";
        };
        text_ += "FUNCTION void butterfly_" + of(r.radix) + "(REAL *x, REAL *y) {\n";
        for (int j = 0; j < r.second; ++j) call(r.first, j, r.second);
        for (int k = 1; k < r.first; ++k)
            for (int j = 1; j < r.second; ++j) turn(k * r.second + j, j * k, r.radix);
        for (int k = 0; k < r.first; ++k) call(r.second, k * r.second, 1);
        text_ += "}\n";
    }

    // ---- tables -------------------------------------------------------------------------------------------
    template <class Entry>
    void table(std::string const& name, index_t count, Entry&& entry) {
        if (apart_) {
            text_ += "#define " + name + " (tables + " + of(pairs_apart()) + ")\n";
            for (index_t i = 0; i < count; ++i) {
                dft_root const w = entry(i);
                for (R const x : {static_cast<R>(w.re), static_cast<R>(w.im)})
                    apart_->bytes.append(reinterpret_cast<char const*>(&x), sizeof(R));
            }
            return;
        }
        text_ += "TABLE(REAL, " + of(larger_of(count, 1)) + ", " + name + ") = {";
        for (index_t i = 0; i < count; ++i) {
            dft_root const w = entry(i);
            text_ += (i % 4 == 0 ? "\n" : " ") + ("PAIR(REAL, " + number(w.re)) + ", " + number(w.im) + "),";
        }
        if (count == 0) text_ += "PAIR(REAL, 0, 0)";
        text_ += "};\n";
    }
    index_t pairs_apart() const {
        return apart_ ? static_cast<index_t>(apart_->bytes.size() / (2 * sizeof(R))) : 0;
    }
    // What kernels, and functions that read tables, have behind their other parameters.
    char const* tables_parameter() const { return pairs_apart() > 0 ? " TABLES(REAL)" : ""; }
    void tables() {
        // For each step behind the first: exp(-2 pi i q k / (lead radix)) for 0 <= k < lead and 0 < q < radix, or the q
        // of which few_roots() tells.
        int lead = work_.steps.radix[0];
        for (int i = 1; i < work_.steps.count; ++i) {
            int const r = work_.steps.radix[i], l = lead, few = dft_work<R>::few_roots(r, l);
            table("roots_" + of(i), index_t{few - 1 + (r - 1) / few} * l, [&](index_t at) {
                index_t const row = at / l, q = row < few - 1 ? row + 1 : (row - few + 2) * few;
                return root_of_unity(q * (at % l), index_t{l} * r);
            });
            lead *= r;
        }
        if (order_ > points_) roots_of_order("between", order_);
        if (chirp_ > 0) chirp_table();
        if (is_convolution()) spectrum_table();
        if (kind_of(flags_) != dft_kind::whole) kind_tables();
    }
    void kind_tables() {
        dft_kind_turns const by = turns_of(kind_of(flags_), length());
        if (kind_read(flags_) != dft_kind::whole) turns("TURN_BEFORE", "turns_before", by.before);
        if (kind_written(flags_) != dft_kind::whole) turns("TURN_BEHIND", "turns_behind", by.behind);
        turns("TURN_BETWEEN", "turns_between", by.between);
        text_ += "#define REAL_POINTS ((index)" + of(real_points(kind_of(flags_), length())) + ")\n";
        define("PARTS", has(dft_parts) ? 2 : 1), define("PART", has(dft_second_part) ? 1 : 0);
        if (!has(dft_sampled)) return;
        dft_kind const kind = kind_of(flags_);
        define("SIGN_SHIFT", larger_of(0, bits_of(real_points(kind, length())) - 5));
        define("SIGNS_IN", kind == dft_kind::cosine_2 || kind == dft_kind::cosine_2_halved);
    }
    // NAME(k), a factor: from a table, or a product if that is long.
    void turns(std::string const& name, std::string const& to, dft_turns const& by) {
        constexpr index_t most_bytes = 20480;
        if (by.count == 0) return;
        if (by.count * index_t{2 * sizeof(R)} <= most_bytes) {
            table(to, by.count,
                  [&](index_t k) { return root_of_unity((by.step * k + by.begin) % by.order, by.order); });
            text_ += "#define " + name + "(k) " + to + "[k]\n";
        } else {
            roots_of_order(to, by.order);
            text_ += "#define " + name + "(k) " + to + "((uint)(" + of(by.step) + " * (k) + " + of(by.begin) +
                     "))\n";
        }
    }
    static int bits_of(index_t n) {
        int bits = 0;
        while ((index_t{1} << bits) < n) ++bits;
        return bits;
    }
    // A function of e that gives exp(-2 pi i e / order), rounded nearly once: a root from a table of few, in two parts,
    // times one or two roots near 1, of which the tables have the distance from 1.
    void roots_of_order(std::string const& name, index_t order) {
        int const bits = bits_of(order), levels = bits > 22 ? 3 : 2, s = (bits + levels - 1) / levels;
        index_t const size = index_t{1} << s;
        auto const exact = [&](index_t at) {
            return root_of_unity(at * (index_t{1} << (levels - 1) * s), order);
        };
        index_t const count = divide_up(order, index_t{1} << (levels - 1) * s);
        table(name + "_high", count, exact);
        table(name + "_rest", count, [&](index_t at) {
            dft_root const w = exact(at);
            return dft_root{w.re - static_cast<double>(static_cast<R>(w.re)),
                            w.im - static_cast<double>(static_cast<R>(w.im))};
        });
        for (int level = 0; level < levels - 1; ++level)
            table(name + '_' + of(level), size, [&](index_t at) {
                index_t const e = at << level * s;
                double const half = root_of_unity(e % order, 2 * order).im; // of half the angle
                return dft_root{-2 * half * half, root_of_unity(e % order, order).im};
            });
        std::string const mask = of(size - 1) + "u";
        text_ += "FUNCTION VECTOR(REAL, 2) " + name + "(uint e" + tables_parameter() +
                 ") {\n    VECTOR(REAL, 2) const high = " + name + "_high[e >> " + of((levels - 1) * s) +
                 "], rest = " + name + "_rest[e >> " + of((levels - 1) * s) +
                 "];\n    VECTOR(REAL, 2) d = " + name + "_0[e & " + mask + "];\n";
        if (levels == 3)
            text_ += "    VECTOR(REAL, 2) const f = " + name + "_1[e >> " + of(s) + " & " + mask +
                     "];\n    REAL const dx = fma(d.x, f.x, -(d.y * f.y)) + (d.x + f.x), "
                     "dy = fma(d.x, f.y, d.y * f.x) + (d.y + f.y);\n    d.x = dx, d.y = dy;\n";
        text_ += "    VECTOR(REAL, 2) w;\n"
                 "    w.x = high.x + fma(high.x, d.x, fma(-high.y, d.y, rest.x));\n"
                 "    w.y = high.y + fma(high.x, d.y, fma(high.y, d.x, rest.y));\n    return w;\n}\n";
        if (apart_) text_ += "#define " + name + "(e) " + name + "(e, tables)\n";
    }
    // exp(-pi i k^2 / n) for the elements of a transform of n points.
    dft_root chirp_at(index_t k) const { return root_of_unity(k * k % (2 * chirp_), 2 * chirp_); }
    void chirp_table() {
        if (is_convolution()) return table("chirp", chirp_, [&](index_t k) { return chirp_at(k); });
        roots_of_order("chirp_root", 2 * chirp_);
    }
    void spectrum_table() {
        list<double> x;
        bool const good = x.resize(static_cast<std::size_t>(2 * all_));
        double const over = 1 / static_cast<double>(all_);
        for (index_t k = 0; good && k < chirp_; ++k) {
            dft_root const w = chirp_at(k);
            for (index_t const at : {k, k == 0 ? k : all_ - k})
                x[static_cast<std::size_t>(2 * at)] = w.re * over,
                                               x[static_cast<std::size_t>(2 * at + 1)] = -w.im * over;
        }
        if (!good || !transform_one(x)) {
            text_ += "#error there is no memory for the spectrum of a chirp\n";
            return;
        }
        table("of_chirp", all_, [&](index_t k) {
            return dft_root{x[static_cast<std::size_t>(2 * k)], x[static_cast<std::size_t>(2 * k + 1)]};
        });
    }
    bool is_convolution() const { return has(dft_in_chirp) && has(dft_out_chirp); }

    // ---- the kernel ---------------------------------------------------------------------------------------
    index_t length() const { return chirp_ > 0 ? chirp_ : all_; } // of the complex transform
    int radix(int step) const { return work_.steps.radix[step]; }
    int last() const { return work_.steps.count - 1; }
    int lead(int step) const {
        int l = 1;
        for (int i = 0; i < step; ++i) l *= radix(i);
        return l;
    }
    bool is_full() const { return work_.together * work_.threads == work_.items; }

    // Loops over the numbers of a work-item: s is the register, i the point, `of` the transform in the group.
    void each(layout const& by, std::string const& body) {
        if (by.of == layout::pairs) return each_pair(by, body);
        if (by.of == layout::flat) {
            int const all = work_.flat_points();
            text_ += "#pragma unroll\n    for (int s = 0; s < " + of(work_.flat_rounds()) + "; ++s) {\n" +
                     "        int const at = s * ITEMS + ITEM;\n";
            if (work_.flat_rounds() * work_.items != all) text_ += "        if (at < " + of(all) + ")";
            std::string const b = of(work_.together);
            text_ += by.across ? (is_fixed(by) ? "        { int const of = ITEM % "
                                               : "        { int const of = at % ") +
                                     b + ", i = at / " + b
                               : "        { int const of = at / POINTS, i = at % POINTS";
            text_ += ", base = i, more = 0; " + body + " }\n    }\n";
            return;
        }
        int const r = radix(by.step), m = points_ / r, rounds = work_.rounds(by.step);
        std::string const t = of(work_.threads);
        text_ += "#pragma unroll\n    for (int u = 0; u < " + of(rounds) + "; ++u) {\n        int const j = ";
        text_ += by.paired ? "(u / 2 * " + t + " + thread) * 2 + u % 2;\n" : "u * " + t + " + thread;\n";
        std::string guard;
        if (!is_full()) guard = "active";
        if (rounds * work_.threads != m) guard += (guard.empty() ? "j < " : " && j < ") + of(m);
        text_ += guard.empty() ? std::string() : "        if (" + guard + ")";
        text_ += "        {\n#pragma unroll\n        for (int q = 0; q < " + of(r) +
                 "; ++q) {\n            int const ";
        dft_radix const how = dft_radix::of(r);
        std::string const own = by.paired ? "2 * thread" : "thread",
                          round = by.paired ? "(u / 2 * 2 * " + t + " + u % 2)" : "u * " + t;
        // Of one work-item, and what every work-item adds to it.
        std::string const l = of(lead(by.step)), next = of(lead(by.step) * r);
        auto const place = [&](std::string const& at) {
            return by.of == layout::reads ? at : at + " / " + l + " * " + next + " + " + at + " % " + l;
        };
        text_ += "base = " + place(is_linear() ? own : "j") +
                 ", more = " + (is_linear() ? place(round) : "0") + " + q * " +
                 (by.of == layout::reads ? of(m) : l) + ", i = base + more, s = u * " + of(r) + " + ";
        text_ += by.of == layout::reads
                     ? "q; "
                     : "q % " + of(how.first) + " * " + of(how.second) + " + q / " + of(how.first) + "; ";
        text_ += body + " }\n        }\n    }\n";
    }
    // Whether the parts of a place have different bits, so that swizzled places are exclusive ors of swizzled parts:
    // those of a work-item, and constants.
    bool is_linear() const {
        auto const is_power = [](int x) { return (x & (x - 1)) == 0; };
        return is_power(points_) && is_power(work_.threads);
    }
    // k is the lower element of a pair.
    void each_pair(layout const& by, std::string const& body) {
        int const h = static_cast<int>(length()), all = work_.all_pairs(h), rounds = work_.pair_rounds(h);
        std::string const b = of(work_.together), pairs = of(h / 2 + 1);
        text_ += "#pragma unroll\n    for (int s = 0; s < " + of(rounds) + "; ++s) {\n        int const ";
        if (work_.has_own_pairs) {
            text_ += "k = s * " + of(work_.threads) + " + thread;\n        if (k < " + pairs + ") { " + body +
                     " }\n    }\n";
            return;
        }
        text_ += "at = s * ITEMS + ITEM;\n";
        if (rounds * work_.items != all) text_ += "        if (at < " + of(all) + ")";
        text_ += by.across ? "{ int const of = at % " + b + ", k = at / " + b
                           : "{ int const of = at / " + pairs + ", k = at % " + pairs;
        text_ += "; " + body + " }\n    }\n";
    }
    std::string spot() const {
        std::string const b = of(work_.together),
                          base = work_.across ? "base * " + b + " + of" : "of * POINTS + base",
                          more = work_.across ? "more * " + b : "more";
        return is_linear() ? "room[(SWIZZLED(" + base + ") ^ SWIZZLED(" + more + "))]"
                           : "room[(SWIZZLED(" + base + " + " + more + "))]";
    }
    // Of number `i` of a transform.
    std::string spot(std::string const& i) const {
        return "room[(SWIZZLED(" +
               (work_.across ? i + " * " + of(work_.together) + " + of" : "of * POINTS + " + i) + "))]";
    }
    std::string spot_in(layout const& by) const { return by.of == layout::pairs ? spot("i") : spot(); }
    std::string second(std::string spot) const { return spot.insert(5, of(room()) + " + "); }
    // The numbers of a register in their spots, and back. What follows the elements of a pair layout is zero.
    std::string put(layout const& by, std::string const& from, std::string const& to) const {
        std::string const h = of(length());
        if (by.of != layout::pairs) return to + " = " + from + "[s];";
        return "{ int const i = k; " + to + " = " + from + "[2 * s]; } if (k > 0 && 2 * k != " + h +
               ") { int const i = " + h + " - k; " + to + " = " + from + "[2 * s + 1]; }";
    }
    std::string take(layout const& by, bool from_pairs, std::string const& to,
                     std::string const& from) const {
        std::string const h = of(length());
        if (by.of == layout::pairs)
            return "{ int const i = k; " + to + "[2 * s] = " + from + "; } { int const i = k > 0 ? " + h +
                   " - k : 0; " + to + "[2 * s + 1] = " + from + "; }";
        if (from_pairs && is_convolution())
            return to + "[s] = 0; if (i < " + h + ") " + to + "[s] = " + from + ";";
        return to + "[s] = " + from + ";";
    }
    int room() const { return work_.numbers_of_room() / (work_.both ? 2 : 1); }
    // From one layout to another through shared memory.
    void exchange(layout const& from, layout const& to) {
        std::string const barrier = "    STEP_BARRIER();\n";
        if (exchanged_++ > 0) text_ += barrier;
        bool const pairs = from.of == layout::pairs;
        std::string const behind = spot_in(from), before = spot_in(to);
        if (work_.both) {
            each(from, put(from, "re", behind) + ' ' + put(from, "im", second(behind)));
            text_ += barrier;
            each(to, take(to, pairs, "re", before) + ' ' + take(to, pairs, "im", second(before)));
            return;
        }
        each(from, put(from, "re", behind));
        text_ += barrier;
        each(to, take(to, pairs, "re", before));
        text_ += barrier;
        each(from, put(from, "im", behind));
        text_ += barrier;
        each(to, take(to, pairs, "im", before));
    }
    void compute(int step, bool paired) {
        int const r = radix(step);
        if (step > 0) {
            std::string const few = of(dft_work<R>::few_roots(r, lead(step))), l = of(lead(step)),
                              roots = "roots_" + of(step) + '[';
            each({layout::reads, step, false, paired},
                 "if (q > 0) { int const k = j % " + l + "; VECTOR(REAL, 2) w = " + roots + "(q < " + few +
                     " ? q - 1 : " + few + " - 2 + q / " + few + ") * " + l + " + k]; if (q > " + few +
                     " && q % " + few + " > 0) { VECTOR(REAL, 2) const v = " + roots + "(q % " + few +
                     " - 1) * " + l + " + k]; TURN(w.x, w.y, v.x, v.y); } TURN(re[s], im[s], w.x, w.y); }");
        }
        text_ += "#pragma unroll\n    for (int u = 0; u < " + of(work_.rounds(step)) + "; ++u) butterfly_" +
                 of(r) + "(re + u * " + of(r) + ", im + u * " + of(r) + ");\n";
    }
    // From the numbers of the first step to the results of the last.
    void steps(bool first_paired, bool last_paired) {
        for (int i = 0; i <= last(); ++i) {
            if (i > 0)
                exchange({layout::writes, i - 1, false, i == 1 && first_paired},
                         {layout::reads, i, false, i == last() && last_paired});
            compute(i, i == 0 ? first_paired : i == last() && last_paired);
        }
    }
    void read(layout const& by) {
        if (by.paired) { // elements of butterflies 2j and 2j + 1
            int const r = radix(0);
            return each(by, "if (u % 2 == 0) { READ_PAIR(re[s], im[s], re[s + " + of(r) + "], im[s + " +
                                of(r) + "], mine, i); }");
        }
        std::string body = where(by);
        if (has(dft_from_chirp))
            body +=
                "{ index const at = there.j + (index)i * SPAN, k = at < CHIRP ? at : " + of(all_) +
                " - at; re[s] = 0, im[s] = 0; if (k < CHIRP) { VECTOR(REAL, 2) const w = " + chirp_root() +
                "; re[s] = w.x * " + number(1 / static_cast<double>(all_)) + ", im[s] = w.y * " +
                number(-1 / static_cast<double>(all_)) + "; } }";
        else
            body += kind_read(flags_) == dft_kind::whole ? "READ_POINT(re[s], im[s], there, i);"
                                                         : "READ_KIND(re[s], im[s], there, i);";
        if (has(dft_in_chirp)) body += chirp_of("there.j + (index)i * SPAN");
        if (order_ > points_)
            body += " VECTOR(REAL, 2) const w = between((uint)(there.j % LEAD) * (uint)i); "
                    "TURN(re[s], im[s], w.x, w.y);";
        each(by, body);
    }
    static std::string chirp_root() {
        return "chirp_root((uint)((ulong)k * (ulong)k % (ulong)(2 * (index)CHIRP)))";
    }
    // Multiplies by the chirp.
    std::string chirp_of(std::string const& number) const {
        std::string const w = is_convolution() ? "chirp[k]" : chirp_root();
        return " { index const k = " + number + "; if (k < CHIRP) { VECTOR(REAL, 2) const w = " + w +
               "; TURN(re[s], im[s], w.x, w.y); } }";
    }
    void write_out(layout const& by) {
        if (by.paired) {
            int const r = radix(last());
            return each(by, "if (u % 2 == 0) { WRITE_PAIR(re[s], im[s], re[s + " + of(r) + "], im[s + " +
                                of(r) + "], mine, i); }");
        }
        std::string body = where(by);
        if (has(dft_out_chirp)) body += "im[s] = -im[s];" + chirp_of("NUMBER_OF(there, i)");
        if (has(dft_out_spectrum))
            body += " if (there.has) { scalar w; LOAD_ALIGNED(1, w, spectrum, NUMBER_OF(there, i)); "
                    "TURN(re[s], im[s], w.x, "
                    "w.y); "
                    "im[s] = -im[s]; }";
        each(by, body + (kind_written(flags_) == dft_kind::whole ? " WRITE_POINT(re[s], im[s], there, i);"
                                                                 : " WRITE_KIND(re[s], im[s], there, i);"));
    }
    // Where elements meet before the steps: to the layout of the first.
    void read_pairs(layout const& by, layout const& head) {
        each(by, where(by) + "READ_BOTH(re[2 * s], im[2 * s], re[2 * s + 1], im[2 * s + 1], there, k);");
        exchange(by, head);
        if (is_convolution()) each(head, chirp_of("i"));
    }
    // Where they meet behind the steps, from the layout of the last.
    void write_pairs(layout const& tail, layout const& by) {
        if (is_convolution()) each(tail, "im[s] = -im[s];" + chirp_of("i"));
        exchange(tail, by);
        each(by, where(by) + "WRITE_BOTH(re[2 * s], im[2 * s], re[2 * s + 1], im[2 * s + 1], there, k);");
    }
    // Whether a work-item has numbers of one transform alone, in the order of memory.
    bool is_fixed(layout const& by) const { return by.across && work_.items % work_.together == 0; }
    std::string where(layout const& by) const {
        if (by.of == layout::reads || by.of == layout::writes ||
            (by.of == layout::pairs && work_.has_own_pairs))
            return "dft_place const there = mine; ";
        return is_fixed(by) ? "dft_place const there = across; " : "dft_place const there = BEHIND(of); ";
    }
    // The head of a kernel, whose list of parameters is left open, with a line for each buffer that not all kernels
    // have, and what all work-items know.
    void open(std::string const& name_and_parameters, std::string const& buffers) {
        define("KEPT", work_.kept());
        text_ += work_.names_groups(has(dft_in_pairs | dft_out_pairs))
                     ? "KERNEL_AT_ONCE(ITEMS, " + of(work_.groups_at_once()) + ")"
                     : "KERNEL(ITEMS)";
        text_ += ' ' + name_and_parameters + tables_parameter() + ") {\n    " +
                 (work_.launched_bytes() > 0 ? "LARGE_SHARED(REAL, room, " + of(work_.numbers_of_room()) + ")"
                                             : "SHARED REAL room[" + of(work_.numbers_of_room()) + "]") +
                 ";\n    OPEN(IN const, x);\n    OPEN(OUT, c);\n#if ENDS\n    OPEN(OUT const, e);\n#endif\n" +
                 buffers;
        std::string const t = of(work_.threads), b = of(work_.together);
        text_ += "    int const of = " + (work_.across ? "ITEM % " + b : "ITEM / " + t) +
                 ", thread = " + (work_.across ? "ITEM / " + b : "ITEM % " + t) + ";\n";
        if (!is_full())
            text_ += std::string("    int const active = ") + (work_.across ? "thread < " + t : "of < " + b) +
                     ";\n";
        text_ += "    dft_place const head = dft_head((index)GROUP * " + b +
                 ", sets, cols);\n    dft_place const mine = BEHIND(of), across = BEHIND(ITEM % " + b +
                 ");\n    REAL const x_sign = x_conjugated ? -1 : 1, c_sign = c_conjugated ? -1 : 1;\n    "
                 "REAL re[KEPT], im[KEPT];\n";
    }
    void kernel() {
        bool const pairs_in = has(dft_in_pairs), pairs_out = has(dft_out_pairs);
        layout const head{layout::reads, 0, false, pairs_in}, tail{layout::writes, last(), false, pairs_out};
        layout const flat_head{layout::flat, 0, work_.across, false},
            flat_tail{layout::flat, 0, has(dft_out_across), false};
        std::string const factor = is_cosine(kind_of(flags_)) ? "REAL row_factor, " : "",
                          sample = has(dft_sampled) ? "index point0, index part_rows, BUFFER(int const, "
                                                      "signs), BUFFER(int const, places), "
                                                    : "";
        open("dft(" + factor + sample + "DFT_PARAMETERS",
             std::string(has(dft_out_spectrum) ? "    OPEN(OUT const, spectrum);\n" : "") +
                 (has(dft_sampled) ? "    OPEN(int const, signs);\n    OPEN(int const, places);\n" : ""));
        if (work_.meets_in) {
            read_pairs({layout::pairs, 0, work_.across, false}, head);
        } else if (work_.flat_in) {
            read(flat_head);
            exchange(flat_head, head);
        } else {
            read(head);
        }
        steps(pairs_in, pairs_out && !is_convolution());
        if (is_convolution()) {
            each({layout::writes, last(), false, false},
                 "VECTOR(REAL, 2) const w = of_chirp[i]; TURN(re[s], im[s], w.x, w.y); im[s] = -im[s];");
            exchange({layout::writes, last(), false, false}, {layout::reads, 0, false, false});
            steps(false, pairs_out);
        }
        if (work_.meets_out) {
            write_pairs(tail, {layout::pairs, 0, has(dft_out_across), false});
        } else if (work_.flat_out) {
            exchange(tail, flat_tail);
            write_out(flat_tail);
        } else {
            write_out(tail);
        }
        text_ += "}\n";
    }

    text_tables* apart_;
    int points_;
    index_t flags_, order_, all_, chirp_;
    dft_work<R> work_;
    std::string text_;
    int exchanged_ = 0;
};

STRATAGEMM_END
