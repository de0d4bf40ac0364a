// Floats on the FP32 units of sm_90 and later; tiles are fetched by hardware, or gathered by threads.
#pragma once

#include "simt.cu.hpp"
#include "tile_cost.hpp"
#include "tile_launch.hpp"

STRATAGEMM_BEGIN

struct cuda_simt {
    static constexpr char const* name = "simt";
    static constexpr char const* text = cuda_simt_text; // of the kernel
    static constexpr bool fetches = true;
    static constexpr bool reads_lines() { return true; }

    short m = 0, n = 0, k = 0;      // of C, and the depth of what is in shared memory at a time
    short micro_m = 1, micro_n = 1; // of C for each thread
    short stages = 1;               // of shared memory
    short group = 8;                // rows of tiles that are walked through together
    short parts = 0;                // of k, summed each by itself; 0: as the cost says

    friend bool operator==(cuda_simt const&, cuda_simt const&) = default;
    friend auto operator<=>(cuda_simt const&, cuda_simt const&) = default;

    static constexpr char types[] = "s";
    static bool takes_type(cuda_device const&, char type) { return type == 's'; }
    static bool takes(cuda_query const& q) {
        return q.type == 's' && (!q.layout.widens() || !q.given) && !cuda_few_columns::are_read_once(q);
    }
    static bool keeps_order(cuda_order const& order, char, cuda_device const&) {
        return !order.on_tensor_cores;
    }
    template <class F>
    static void candidates(cuda_query const& q, F& f);
    template <class F>
    void candidates_as_given(cuda_query const& q, F& f) const;

    constexpr int sums() const { return micro_m * micro_n; } // of a thread
    constexpr int threads() const { return m / micro_m * (n / micro_n); }
    constexpr int threads(cuda_form const& f) const { return threads() + fetchers(f) * 32; }
    // Warps that only copy. Four do if at least as many multiply: one on each scheduler, since each instruction that a
    // fetching warp issues delays the warps that multiply.
    constexpr int fetchers(cuda_form const& f) const { return f.dense ? 0 : threads() < 128 ? 1 : 4; }
    std::string describe() const { return describe_tile(*this); }

    // Whether a large tile may read lines along k as they lie. The tile is faster with transposed copies of the
    // operands, but these take time.
    constexpr bool may_read_along_k() const { return sums() > 64 && sums() <= 128; }
    // Whether the lines of A and B may begin anywhere. Threads of some warps then copy the operands that the hardware
    // cannot fetch. Large tiles do without these copies: their warps have no registers left, and a copy of the operands
    // costs large products little.
    constexpr bool takes_any_lines() const { return sums() <= 128 && m * n <= 128 * 128; }
    bool copies_lines(cuda_way const& way) const { return !(takes_any_lines() && way.shifted); }
    // Whether operands that lie along k are turned on the way to shared memory, where threads copy. A block of two warps
    // waits longer for one that turns than for one that copies.
    constexpr bool turns_on_the_way() const { return threads() >= 96; }
    // Whether the terms of the last step that are beyond k are left out, in eights, because they take noticeable time.
    // Checking this at each step takes up to 5% longer.
    constexpr bool leaves_out(std::ptrdiff_t of_k) const {
        std::ptrdiff_t const beyond = (k - 1 - (of_k - 1) % k) / 8 * 8;
        return 25 * beyond >= of_k;
    }
    constexpr std::ptrdiff_t terms(std::ptrdiff_t of_k) const {
        std::ptrdiff_t const unit = leaves_out(of_k) ? 8 : k;
        return ((of_k - 1) / unit + 1) * unit;
    }
    // Fetched tiles begin at multiples of 1 KiB. There are gaps between lines of operands that are turned on the way.
    // Lines that threads copy may begin anywhere: three blocks of 128x64 that turn both operands just fit.
    std::size_t shared_bytes(cuda_form const& f) const {
        std::size_t const stage = static_cast<std::size_t>((m + n) * k) * 4,
                          all = static_cast<std::size_t>(stages) * (stage + 16),
                          gaps = static_cast<std::size_t>(stages * (k - 1) * (f.a_turned + f.b_turned));
        return f.dense ? 1024 + all : all + gaps * 4 * 4;
    }
    // Blocks of a multiprocessor that have registers for so many sums of each thread (RESIDENT in simt.cu.hpp).
    int blocks_with_sums(int of_thread) const {
        int const blocks = (of_thread > 64 ? 256 : of_thread > 32 ? 384 : 512) / threads();
        return blocks > 0 ? blocks : 1;
    }
    bool can_run(cuda_device const& d, std::size_t, bool = true) const {
        // Sums in three registers of four leave none over, and not all compilers of machine code get by with that.
        bool const has_registers = sums() <= 128 || d.capability == 90;
        cuda_form fetched;
        fetched.dense = true;
        return d.capability >= 90 && has_registers && shared_bytes(fetched) <= d.shared_bytes;
    }
    bool is_legal(std::size_t, std::size_t scalar) const {
        int const across_m = m / micro_m, across_n = n / micro_n, warp_n = across_n < 8 ? across_n : 8;
        return threads() >= 64 && micro_tiles_fit(*this, 4, 4) && across_n % warp_n == 0 &&
               32 % warp_n == 0 && across_m % (32 / warp_n) == 0 && threads() <= 256 && k == 32 &&
               stages >= 3 && static_cast<std::size_t>(sums()) * scalar <= 768 &&
               threads() * micro_n <= 16 * (m + n);
    }

    // What ways there are.
    std::ptrdiff_t least_part() const { return 32; }
    bool may_shift(cuda_query const& q, bool fetched) const {
        if (q.layout.widens()) return takes_any_lines() && !(q.invariant && may_read_along_k());
        if (may_read_along_k()) return !q.invariant && (q.layout.a_along_k || q.layout.b_along_k);
        return !fetched && takes_any_lines();
    }
    bool sums_pieces() const { return sums() <= 96; } // a thread has registers for two sums of each element
    int blocks_with_pieces(int blocks) const {
        int const least = blocks_with_sums(2 * sums());
        return least < blocks ? least : blocks;
    }
    static constexpr bool adds_up_together(std::size_t) { return true; }
    static constexpr bool divides_last_round(std::size_t) { return true; }

    // The form that the tile takes, if operands lie as given.
    cuda_form taken(cuda_form given) const {
        given.direct &= may_read_along_k();
        if (sums() > 64 && !given.direct) given.a_along_k = given.b_along_k = false;
        return given;
    }
    bool takes_along_k(std::size_t) const { return taken({}).a_along_k; }
    template <class Product>
    cuda_form form_of(Product const& p, cuda_way const& way) const;

    std::string definitions(cuda_form const& form) const {
        cuda_definitions d;
        d("DENSE", form.dense).tile(*this, stages, group, 1)("FETCHERS", fetchers(form)).form(form);
        d("A_TURNED", form.a_turned)("B_TURNED", form.b_turned)("LEAVES_OUT", form.leaves_out);
        if (!form.dense) d("A_UNIT", form.a_unit)("B_UNIT", form.b_unit);
        return d.only("TOGETHER", form.together).text();
    }
    template <class In, class Out, class A, class B, class Epilogue>
    cuda_source source(cuda_form const& form, Epilogue const& epilogue) const {
        std::string const body = std::string(fetches_text) + cuda_pipeline_text +
                                 cuda_narrower<In, A>("A_IN") + cuda_narrower<In, B>("B_IN") + cuda_simt_text;
        cuda_source made = cuda_source_of<In, Out>(name, body.c_str(), epilogue, definitions(form));
        made.shared_bytes = shared_bytes(form), made.threads = threads(form);
        return made;
    }
    template <class In>
    std::size_t copies_at_most(cuda_sides const& s) const {
        return bytes_of_copies<In>(s);
    }
    template <class Product>
    std::size_t copies(Product const& p, cuda_way const& way) const {
        return bytes_of_copies(p, way, form_of(p, way));
    }
    template <class Product>
    status launch(Product const& p, cuda_way const& way, cuda_arena& memory) const {
        return p.run_in_parts(*this, way, form_of(p, way), memory);
    }
    template <class Product, class Arguments, class Epilogue>
    status run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments x,
               Epilogue const& epilogue, cuda_arena& memory) const;
};

template <>
inline constexpr cuda_built_in<cuda_simt> cuda_tiles_of<cuda_simt>[] = {
    {"s", {256, 192, 32, 16, 12, 3}, 1, 113}, {"s", {256, 128, 32, 8, 16, 4}, 1, 112},
    {"s", {128, 128, 32, 8, 16, 3}, 2, 113},  {"s", {128, 96, 32, 8, 12, 3}, 2, 109},
    {"s", {96, 96, 32, 8, 12, 3}, 2, 80},     {"s", {64, 192, 32, 8, 12, 3}, 2, 109},
    {"s", {128, 64, 32, 8, 8, 3}, 3, 104},    {"s", {64, 128, 32, 8, 8, 3}, 3, 103},
    {"s", {64, 64, 32, 8, 4, 3}, 4, 92},      {"s", {64, 64, 32, 4, 4, 3}, 2, 78},
    {"s", {64, 32, 32, 4, 4, 3}, 4, 81},      {"s", {32, 64, 32, 4, 4, 3}, 4, 81},
    {"s", {16, 128, 32, 4, 4, 3}, 4, 78},     {"s", {128, 16, 32, 4, 4, 3}, 4, 77},
    {"s", {32, 32, 32, 4, 4, 3}, 8, 78},
};

// How many blocks of `bytes` bytes a multiprocessor has shared memory for, if one block may have `most`. Each block
// takes 1 KiB more.
constexpr int blocks_with_room(std::size_t most, std::size_t bytes) {
    return static_cast<int>((most + 1024) / ((bytes + 127) / 128 * 128 + 1024));
}

class cuda_simt_cost : public cuda_tile_cost<cuda_simt_cost, cuda_simt> {
    using base = cuda_tile_cost<cuda_simt_cost, cuda_simt>;
    friend base;

public:
    cuda_simt_cost(cuda_query const& q, cuda_simt const& t, int blocks, double rate, cuda_way const& way)
        : base(q, t,
               t.taken(
                   {.a_along_k = q.layout.a_along_k, .b_along_k = q.layout.b_along_k, .direct = way.shifted}),
               blocks, rate, way) {
        if (!gathers()) return;
        // Some blocks that gather need more shared memory than those that the hardware serves.
        bool const turns = t_.turns_on_the_way();
        cuda_form gathered = form_;
        gathered.dense = false;
        gathered.a_turned = turns && form_.a_along_k, gathered.b_turned = turns && form_.b_along_k;
        int const room = blocks_with_room(shared_bytes_, t_.shared_bytes(gathered));
        if (room < blocks_) blocks_ = room;
    }

private:
    bool takes_lines() const { return t_.takes_any_lines() && how_.shifted && copies_itself(); }
    // Whether warps beside those that multiply fetch the operands.
    bool gathers() const { return takes_lines(); }
    // Floats that gathering copies at a time, or in the time of one. What lies along k is turned, one by one.
    static double unit_of(std::ptrdiff_t line) { return line % 4 == 0 ? 4 : line % 2 == 0 ? 1.3 : 1; }
    double unit_of_a() const { return layout_.a_along_k && t_.turns_on_the_way() ? 1 : unit_of(line_of_a()); }
    double unit_of_b() const { return layout_.b_along_k && t_.turns_on_the_way() ? 1 : unit_of(line_of_b()); }

    double begins() const { return 5300; }
    double fetching(double share, std::ptrdiff_t depth) const {
        if (!gathers()) return base::fetching(share, depth);
        // The gathering threads have a limited number of requests under way at a time. Lines that only one tile reads
        // come from memory, which takes longer.
        double const rows = t_.m, cols = t_.n, terms = up(depth, t_.k) * t_.k;
        double const of_a = rows / unit_of_a() * (1 + 0.55 * size_of_a_ / size_ / up(s_.n, t_.n)),
                     of_b = cols / unit_of_b() * (1 + 0.55 * size_of_b_ / size_ / up(s_.m, t_.m));
        return (of_a + of_b) * terms * size_ / 23;
    }
    // Cycles until the operands of a step of k have come.
    double shortest_step(double) const {
        if (!gathers()) return 1150;
        return longer(1150, (t_.turns_on_the_way() ? 12 : 18) * (t_.m / unit_of_a() + t_.n / unit_of_b()));
    }
    // Cycles until threads of `beside` blocks have gathered the first step of their tiles, beyond those that begins()
    // counts. Products that a cluster adds up are small, and the cost is accurate enough without these cycles, except
    // where lanes widen an operand and wait for it.
    double filling(double beside) const {
        if (how_.together && !layout_.widens()) return 0;
        return gathers() ? 2100 + 0.45 * beside * fetching(1, t_.k) : 700;
    }
    // All blocks ask for the first steps of their parts at once. Large tiles that the hardware fetches wait for that
    // if their parts have few steps and B lies along n.
    double short_parts(double beside, std::ptrdiff_t depth) const {
        double const steps = up(depth, t_.k);
        bool const large = !gathers() && !layout_.b_along_k && t_.sums() > 64;
        return large && how_.part > 0 && !how_.together && steps < 8 ? 1500 * (8 - steps) * beside : 0;
    }
    // Bytes of C that a multiprocessor stores in a cycle, and nothing else meanwhile.
    double bytes_stored() const {
        bool const aligned = rows_are_aligned();
        // Blocks that gather are not in step: some store while others multiply.
        if (gathers()) {
            if (t_.sums() <= 64) return aligned ? 24 : 11;
            return s_.k <= 128 ? (aligned ? 9 : 6.5) : aligned ? 13 : 8;
        }
        // It takes longer where k ends within a step.
        double const within = aligned && s_.k % t_.k != 0 ? 2 / 3.0 : 1;
        if (form_.direct && !aligned) return t_.sums() > 96 ? 8.5 : 10;
        return t_.sums() > 128 ? (aligned ? 12 * within : 7) : aligned ? 24 * within : 8.5;
    }
    // Blocks are not in step: some store while others multiply.
    double exposed(double beside) const { return beside > 1 ? 0.8 : 1; }
    // If each block has one tile, and fetches by hardware, all of them store at the same time, no faster than memory.
    double storing_in_step(double tiles, double stored) const {
        if (gathers() || how_.part > 0 || tiles_ > real(units_ * blocks_)) return 0;
        return 0.8 * tiles * elements_of_tile() * stored * units_ / memory_;
    }
    // Fewer blocks than a multiprocessor has room for do not keep it busy. Each warp waits for its operands; the fewer
    // sums the warp can work on meanwhile, the longer it waits.
    double slowed_alone(double beside) const {
        double const warps = beside * real(t_.threads()) / 128;
        return 1 + 2.2 / (warps * warps * __builtin_sqrt(real(t_.micro_m) * t_.micro_n));
    }
    std::ptrdiff_t terms_of(std::ptrdiff_t depth) const { return t_.terms(depth); }
    // Where operands do not lie as the tile takes them soonest.
    double rate_by_layout() const {
        if (!gathers()) return (form_.direct ? 0.92 : 1) * 1.03;
        if (t_.threads() == 96) return 1.16;
        if (!t_.turns_on_the_way()) return 1;
        // An operand that is turned on the way lies better than lines along k. Where both operands are turned, threads
        // with many sums wait for shared memory.
        bool const both_turned = layout_.a_along_k && layout_.b_along_k;
        return t_.sums() <= 32 ? 1.07 : (t_.sums() == 64 ? 1 : 1.04) - (both_turned ? 0.06 : 0);
    }
};

template <class F>
void cuda_simt::candidates(cuda_query const& q, F& f) {
    ways_of_built_in<cuda_simt_cost, cuda_simt>(q, f);
}
template <class F>
void cuda_simt::candidates_as_given(cuda_query const& q, F& f) const {
    if (q.type == 's') ways_as_given<cuda_simt_cost>(q, *this, f);
}

template <class Product>
cuda_form cuda_simt::form_of(Product const& p, cuda_way const& way) const {
    using In = typename Product::in_type;
    cuda_form f = p.form_as_lying(way);
    f.direct = way.shifted;
    f.leaves_out = way.part == 0 && leaves_out(p.sides().k);
    bool const gathered = way.whole == 0 && takes_any_lines() && way.shifted && operands_lie(p, taken(f));
    f.dense = are_dense(p, gathered);
    if (f.dense) return taken(f);
    bool const turns = turns_on_the_way();
    f.a_turned = turns && f.a_along_k, f.b_turned = turns && f.b_along_k;
    f.a_along_k &= !turns, f.b_along_k &= !turns;
    // The unit of copies: up to 16 bytes, once widened; up to two terms, where the operand that is turned is narrower.
    auto const unit = []<class T>(cuda_lines<T> const& lines, bool turned) {
        short const all = lines.aligned(), most = !turned ? 4 : sizeof(T) < sizeof(In) ? 2 : 1;
        return all < most ? all : most;
    };
    f.a_unit = unit(cuda_lines_of(p.line_view_a()), f.a_turned);
    f.b_unit = unit(cuda_lines_of(p.line_view_b()), f.b_turned);
    return taken(f);
}

template <class Product, class Arguments, class Epilogue>
status cuda_simt::run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments x,
                      Epilogue const& epilogue, cuda_arena& memory) const {
    auto compiled = p.compiled(*this, form, epilogue);
    if (!compiled) return compiled.take_status();
    cuda_operand_lines<Product> lines(p);
    if (status s = lines.copy(p, form, memory); !s) return s;
    CUtensorMap a_map{}, b_map{};
    int resident = (*compiled)->resident;
    if (form.dense) {
        if (status s = map_operand(p.session(), a_map, lines.a, form.a_along_k, m, x.m, k, false); !s)
            return s;
        if (status s = map_operand(p.session(), b_map, lines.b, form.b_along_k, n, x.n, k, false); !s)
            return s;
    } else {
        lines.put(x, form);
        // There may be room for more blocks that gather than the cost expects. Each block would then have fewer tiles,
        // and the last tiles would run alone for longer.
        int const room = blocks_with_sums(sums() * (form.pieces ? 2 : 1));
        if (room < resident) resident = room;
    }
    if (!way.invariant) x.flags |= first_steps(*this, form, p.sides(), sizeof(typename Product::in_type));
    int const cluster = form.together ? static_cast<int>(way.parts(p.sides().k)) : 1;
    cuda_grid const grid = grid_of(p, blocks_of(*this, *this, form, way, p.sides()), threads(form), cluster,
                                   resident, form.together);
    return p.with_targets(form, x, [&](auto const& given) {
        return p.session().launch(p.stream(), **compiled, grid, a_map, b_map, given, epilogue.bytes());
    });
}

STRATAGEMM_END
