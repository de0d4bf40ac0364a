// Floats on the FP32 units of sm_90 and later; tiles are fetched by hardware, or gathered by threads.
#pragma once

#include "simt.cu.hpp"
#include "tile_counts.hpp"
#include "tile_launch.hpp"

STRATAGEMM_BEGIN

// How many blocks of `bytes` bytes a multiprocessor has shared memory for, if one block may have `most`. Each block
// takes 1 KiB more.
constexpr int blocks_with_room(std::size_t most, std::size_t bytes) {
    return static_cast<int>((most + 1024) / ((bytes + 127) / 128 * 128 + 1024));
}

struct cuda_simt : cuda_micro_tiled<cuda_simt> {
    using cuda_micro_tiled::cuda_micro_tiled;

    static constexpr char const* name = "simt";
    static constexpr char const* text = cuda_simt_text; // of the kernel
    static constexpr bool fetches = true;

    static constexpr char types[] = "s";
    static constexpr bool widens = true;
    static bool takes_type(cuda_device const&, char type) { return type == 's'; }
    static bool takes(cuda_query const& q) { return q.type == 's' && (!q.layout.widens() || !q.given); }

    constexpr int sums() const { return micro_sums(); } // of a thread
    constexpr int threads() const { return micro_tiles(); }
    constexpr int threads(cuda_form const& f) const { return threads() + fetchers(f) * 32; }
    // Warps that only copy. Four do if at least as many multiply: one on each scheduler, since each instruction that a
    // fetching warp issues delays the warps that multiply.
    constexpr int fetchers(cuda_form const& f) const { return f.dense ? 0 : threads() < 128 ? 1 : 4; }

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

    // How operands come.
    cuda_form form_taken(cuda_query const& q, cuda_way const& way) const {
        return taken(
            {.a_along_k = q.layout.a_along_k, .b_along_k = q.layout.b_along_k, .direct = way.shifted});
    }
    bool gathers_lines(cuda_query const&, cuda_way const& way) const {
        return takes_any_lines() && way.shifted;
    }
    bool changes_lines(bool along_k, std::size_t) const { return along_k && turns_on_the_way(); }
    // Some blocks that gather need more shared memory than those that the hardware serves.
    int blocks_that_gather(cuda_query const& q, cuda_form form, int blocks) const {
        form.dense = false;
        form.a_turned = turns_on_the_way() && form.a_along_k,
        form.b_turned = turns_on_the_way() && form.b_along_k;
        int const room = blocks_with_room(q.device.shared_bytes, shared_bytes(form));
        return room < blocks ? room : blocks;
    }
    template <class Product>
    cuda_form form_of(Product const& p, cuda_way const& way) const;

    std::string definitions(cuda_form const& form) const {
        cuda_definitions d;
        d("DENSE", form.dense).tile(*this, stages, group)("FETCHERS", fetchers(form)).form(form);
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
    template <class Product, class Arguments, class Epilogue>
    status run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments x,
               Epilogue const& epilogue, cuda_arena& memory) const;
};

template <>
inline constexpr cuda_built_in<cuda_simt> cuda_tiles_of<cuda_simt>[] = {
    {"s", {256, 192, 32, 16, 12, 3}, 1}, {"s", {256, 128, 32, 8, 16, 4}, 1},
    {"s", {128, 128, 32, 8, 16, 3}, 2},  {"s", {128, 96, 32, 8, 12, 3}, 2},
    {"s", {96, 96, 32, 8, 12, 3}, 2},    {"s", {64, 192, 32, 8, 12, 3}, 2},
    {"s", {128, 64, 32, 8, 8, 3}, 3},    {"s", {64, 128, 32, 8, 8, 3}, 3},
    {"s", {64, 64, 32, 8, 4, 3}, 4},     {"s", {64, 64, 32, 4, 4, 3}, 2},
    {"s", {64, 32, 32, 4, 4, 3}, 4},     {"s", {32, 64, 32, 4, 4, 3}, 4},
    {"s", {16, 128, 32, 4, 4, 3}, 4},    {"s", {128, 16, 32, 4, 4, 3}, 4},
    {"s", {32, 32, 32, 4, 4, 3}, 8},
};

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
    int resident = (*compiled)->resident;
    if (form.dense) {
        if (status s = lines.map(p, form, m, k, n, k, false); !s) return s;
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
        return p.session().launch(p.stream(), **compiled, grid, lines.a_map, lines.b_map, given,
                                  epilogue.bytes());
    });
}

STRATAGEMM_END
