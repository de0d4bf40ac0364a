// The products: what each kernel is given, and queuing it.
#pragma once

#include "choice.hpp"
#include "combined.hpp"

STRATAGEMM_BEGIN

// One product as kernels take it: turned if need be, so that the columns of C have its smaller stride, or so that they
// are the few where there are few.
// Operands of two types are turned by the caller, since the turned product has another type: `is_transpose` says that they
// are.
// With an opencl_combination, it is the product of the first terms of sums into the first target of a spread, and `rest`
// has what makes it the whole.
template <class Problem, class Rest = opencl_plain>
class opencl_product {
    using A = typename Problem::a_type;
    using B = typename Problem::b_type;
    using In = typename Problem::wide_type;
    using Out = typename Problem::c_type;
    using Scalar = typename Problem::scalar;

public:
    opencl_product(opencl_session& session, bool invariant, Problem const& given, Rest const& rest = {},
                   bool is_transpose = false)
        : session_(session), invariant_(invariant), turned_(is_transpose || is_turned(given.c)),
          p_(oriented(given, turned_)), epilogue_(given.epilogue), rest_(rest) {
        if constexpr (combined)
            if (turned_) rest_ = rest.transposed();
    }

    // An error if the kernels cannot take the operands; before anything is queued.
    status check() const {
        if (status s = session_.check_buffers(p_.a.data.buffer, p_.b.data.buffer, p_.c.data.buffer); !s)
            return s;
        if (adds())
            if (status s = session_.check_buffers(p_.e.data.buffer); !s) return s;
        if constexpr (combined)
            if (status s = check_rest(); !s) return s;
        if (status s = check_sides(p_, "opencl"); !s) return s;
        return epilogue_.check();
    }

    template <class V>
    static bool is_turned(V const& c) {
        bool const narrow = c.rows != c.cols && (c.rows <= opencl_narrow || c.cols <= opencl_narrow);
        return narrow ? c.rows < c.cols : rows_are_closer(c);
    }
    opencl_sides sides() const { return sides_of(p_); }
    bool a_along_k() const { return magnitude(p_.a.col_stride) <= magnitude(p_.a.row_stride); }

    status run(opencl_choice const& choice, opencl_arena& memory) const {
        // Tuning in another thread may have changed the choice since the arena was made.
        if (choice.part > 0 && !memory.fits(parts_footprint(choice.part)))
            return run({choice.tile, 0, choice.way}, memory);
        opencl_form form = own_form();
        form.partial = choice.part > 0;
        form.pieces &= !form.partial;
        if (choice.way == opencl_way::small) return run_small(choice.tile);
        if (choice.way == opencl_way::narrow) {
            opencl_tile const tile = fitted_narrow(choice.tile, form);
            std::size_t const rows =
                static_cast<std::size_t>(tile.threads_m * (form.a_along_k ? tile.micro_m : tile.a_width));
            return run_groups(opencl_operation::narrow, {"narrow", opencl_narrow_text}, tile, form,
                              (static_cast<std::size_t>(p_.c.rows) + rows - 1) / rows, choice.part, memory);
        }
        if (choice.way == opencl_way::tiled) {
            opencl_tile const tile = fitted(choice, form);
            if (is_legal(tile, form) && fits_device(tile, session_.device(), sizeof(Scalar)))
                return run_groups(opencl_operation::tiled, {"tiled", opencl_tiled_text}, tile, form,
                                  groups_of(tile, sides()), choice.part, memory);
        }
        return run_directly();
    }

private:
    static constexpr bool combined = !std::is_same_v<Rest, opencl_plain>,
                          of_two_types = !std::is_same_v<A, B>;

    static Problem oriented(Problem const& given, [[maybe_unused]] bool turned) {
        if constexpr (!of_two_types)
            if (turned) return given.transposed();
        return given;
    }
    bool adds() const { return p_.beta != Scalar(0); }

    bool b_along_k() const { return magnitude(p_.b.row_stride) < magnitude(p_.b.col_stride); }

    // Fills in how the operands lie, and makes the loads as narrow as they ask.
    opencl_tile fitted(opencl_choice const& choice, opencl_form& form) const {
        opencl_tile tile = choice.tile;
        form.a_along_k = a_along_k();
        form.b_along_k = b_along_k();
        form.guard = is_guarded(choice, sides());
        form.once = choice.part == 0 && p_.a.cols <= tile.depth;
        bool a_unit = true, b_unit = true, a_aligned = true, b_aligned = true;
        each_of_a([&](auto const& a) { a_unit &= (form.a_along_k ? a.col_stride : a.row_stride) == 1; });
        each_of_b([&](auto const& b) { b_unit &= (form.b_along_k ? b.row_stride : b.col_stride) == 1; });
        if (complex_like<In>) tile.lanes_m = tile.lanes_n = 1; // there are no vectors of complex numbers
        bool const vectors = !complex_like<In> && !form.guard;
        tile.a_width = vectors && a_unit ? tile.a_width : short{1};
        tile.b_width = vectors && b_unit ? tile.b_width : short{1};
        each_of_a([&](auto const& a) {
            a_aligned &= is_aligned(a.data.offset, p_.a_step, form.a_along_k ? a.row_stride : a.col_stride,
                                    form.a_along_k ? a.cols : a.rows, tile.a_width);
        });
        each_of_b([&](auto const& b) {
            b_aligned &= is_aligned(b.data.offset, p_.b_step, form.b_along_k ? b.col_stride : b.row_stride,
                                    form.b_along_k ? b.rows : b.cols, tile.b_width);
        });
        form.aligned = a_aligned && b_aligned;
        form.wide = wide(tile.lanes_n, choice.part > 0);
        if (!form.wide && stores_lines(tile)) tile.lanes_n = 1;
        // With a short k the stores take most of the time, and a CPU stores rows fastest one after the other.
        if (form.once && session_.device().family == opencl_family::cpu) tile.swizzle = 1;
        if (!loads_elements_if_unaligned(session_.device().family)) return tile;
        // There each element of such a vector would be a load of its own, and none of them next to its
        // neighbour's.
        if (!a_aligned) tile.a_width = 1;
        if (!b_aligned) tile.b_width = 1;
        form.aligned = true;
        return tile;
    }
    opencl_tile fitted_narrow(opencl_tile tile, opencl_form& form) const {
        form.a_along_k = a_along_k();
        form.aligned = true;
        index_t const unit = form.a_along_k ? p_.a.col_stride : p_.a.row_stride;
        index_t const line = form.a_along_k ? p_.a.row_stride : p_.a.col_stride;
        index_t const length = form.a_along_k ? p_.a.cols : p_.a.rows;
        if (complex_like<In> || unit != 1 ||
            !is_aligned(p_.a.data.offset, p_.a_step, line, length, tile.a_width))
            tile.a_width = 1;
        return tile;
    }
    static bool loads_elements_if_unaligned(opencl_family f) { return f == opencl_family::nvidia; }
    // Whether vectors at every multiple of the width along a line, and along the line counted from its end, are
    // aligned.
    static bool is_aligned(index_t offset, index_t step, index_t line_stride, index_t length, index_t width) {
        return offset % width == 0 && step % width == 0 && line_stride % width == 0 && length % width == 0;
    }

    // How C and E are taken: 1 by aligned vectors of `lanes` columns, 2 by vectors that begin anywhere (a CPU has loads
    // and stores for those), 0 element by element. For workspace only the row length matters.
    short wide(short lanes, bool partial) const {
        if (lanes == 1 || complex_like<Out> || !std::is_same_v<accumulator_t<In>, Out>) return 0;
        bool in_lines = true, aligned = p_.c.cols % lanes == 0;
        auto const look = [&](auto const& v, index_t step) {
            in_lines &= v.col_stride == 1;
            aligned &= is_aligned(v.data.offset, step, v.row_stride, v.cols, lanes);
        };
        if (!partial) {
            look(p_.c, p_.c_step);
            if (adds()) look(p_.e, p_.e_step);
            if constexpr (combined)
                for (int t = 0; t < rest_.c.targets; ++t) {
                    auto const& x = rest_.c.at[t];
                    look(x.to, 0);
                    if (x.keep != Scalar(0)) look(x.from, 0);
                }
        }
        if (!in_lines) return 0;
        return aligned ? 1 : session_.device().family == opencl_family::cpu && !combined ? 2 : 0;
    }

    footprint parts_footprint(index_t part) const {
        footprint f;
        f.device = opencl_arena::rounded(
            static_cast<std::size_t>((p_.a.cols + part - 1) / part * p_.c.rows * p_.c.cols) * sizeof(Scalar));
        return f;
    }

    opencl_kernel_key key(opencl_operation operation, opencl_tile const& tile = {},
                          opencl_form form = {}) const {
        opencl_kernel_key own{
            operation, {type_letter<In>(), type_letter<Out>()}, tile, form, epilogue_.text()};
        if constexpr (of_two_types) own.types[2] = type_letter<A>(), own.types[3] = type_letter<B>();
        return own;
    }
    // Defines the type in memory of an operand that is widened.
    template <class T>
    static std::string stored_as(char const* name) {
        if constexpr (std::is_same_v<T, In>)
            return {};
        else
            return std::string("#define ") + name + ' ' +
                   (std::is_integral_v<T> ? "number8" : kernel_type<T>()) + '\n';
    }
    template <class Epilogue>
    static opencl_source source_of(char const* kernel, char const* body, Epilogue const& epilogue,
                                   std::string const& form = {}) {
        std::string const definitions = stored_as<A>("A_IN") + stored_as<B>("B_IN") + form;
        if constexpr (combined)
            return opencl_source_of<In, Out>(kernel, (std::string(opencl_combined_text) + body).c_str(),
                                             epilogue, definitions);
        else
            return opencl_source_of<In, Out>(kernel, body, epilogue, definitions);
    }
    static std::size_t groups_of(opencl_tile const& tile, opencl_sides const& s) {
        auto const up = [](index_t x, index_t y) { return static_cast<std::size_t>((x + y - 1) / y); };
        return up(s.m, tile.tile_m()) * up(s.n, tile.tile_n());
    }

    status run_directly() const {
        opencl_form const form = own_form();
        auto compiled = session_.kernel(key(opencl_operation::direct, {}, form), [&] {
            return source_of("direct", opencl_direct_text, epilogue_, definitions(form));
        });
        if (!compiled) return compiled.take_status();
        auto const elements = static_cast<std::size_t>(p_.c.rows * p_.c.cols * p_.count);
        return session_.launch(**compiled, {{(elements + 63) / 64, 1, 1}, {64, 1, 1}},
                               [&](opencl_call& call) {
                                   pass_operands(call, piece());
                                   pass_result(call);
                               });
    }

    status run_small(opencl_tile const& tile) const {
        opencl_form form = own_form();
        form.a_along_k = a_along_k(), form.b_along_k = b_along_k();
        opencl_kernel_key small = key(opencl_operation::small, tile, form);
        small.sides = {p_.c.rows, p_.c.cols, p_.a.cols};
        auto compiled = session_.kernel(small, [&] {
            std::string text = definitions(tile, form);
            for (std::size_t i = 0; i < 3; ++i)
                text += std::string("#define SIDE_") + "MNK"[i] + ' ' + std::to_string(small.sides[i]) + '\n';
            return source_of("small", opencl_small_text, epilogue_, text);
        });
        if (!compiled) return compiled.take_status();
        auto const together = static_cast<std::size_t>(tile.slices);
        return session_.launch(**compiled,
                               {{(static_cast<std::size_t>(p_.count) + together - 1) / together, 1, 1},
                                {static_cast<std::size_t>(tile.threads()), 1, 1}},
                               [&](opencl_call& call) {
                                   pass_operands(call, piece());
                                   pass_result(call);
                               });
    }

    struct named_text {
        char const* kernel;
        char const* text;
    };
    // Runs `groups` groups for each product of the batch, or for each part of k. The sums of parts are always summed
    // in the order of the parts, so that the result is always the same.
    status run_groups(opencl_operation operation, named_text source, opencl_tile const& tile,
                      opencl_form const& form, std::size_t groups, index_t part, opencl_arena& memory) const {
        opencl_epilogue<Scalar> const none{identity{}};
        opencl_kernel_key own = key(operation, tile, form);
        if (form.partial) own.text.clear(), own.form.targets = 0;
        auto compiled = session_.kernel(own, [&] {
            std::string const text = definitions(tile, own.form);
            return form.partial ? source_of(source.kernel, source.text, none, text)
                                : source_of(source.kernel, source.text, epilogue_, text);
        });
        if (!compiled) return compiled.take_status();
        auto const items = static_cast<std::size_t>(tile.threads());
        if (!form.partial)
            return session_.launch(**compiled,
                                   {{groups, static_cast<std::size_t>(p_.count), 1}, {items, 1, 1}},
                                   [&](opencl_call& call) {
                                       pass_operands(call, piece());
                                       pass_result(call);
                                   });

        opencl_form end;
        end.targets = form.targets, end.invariant = form.invariant;
        auto gather = session_.kernel(key(opencl_operation::gather, {}, end), [&] {
            return source_of("gather", opencl_gather_text, epilogue_, definitions(end));
        });
        if (!gather) return gather.take_status();
        index_t const parts = (p_.a.cols + part - 1) / part;
        opencl_arena::scope const until_return(memory);
        cl_mem const partial = memory.take<Scalar>(0).buffer;
        cl_long const at = memory.take<Scalar>(parts * p_.c.rows * p_.c.cols).offset;
        if (status s =
                session_.launch(**compiled, {{groups, static_cast<std::size_t>(parts), 1}, {items, 1, 1}},
                                [&](opencl_call& call) {
                                    pass_operands(call, part);
                                    call(partial, at, flags());
                                });
            !s)
            return s;
        auto const elements = static_cast<std::size_t>(p_.c.rows * p_.c.cols);
        return session_.launch(**gather, {{(elements + 63) / 64, 1, 1}, {64, 1, 1}}, [&](opencl_call& call) {
            call(partial, at,
                 cl_int4{{static_cast<cl_int>(p_.c.rows), static_cast<cl_int>(p_.c.cols),
                          static_cast<cl_int>(parts), 0}});
            pass_result(call);
        });
    }

    void pass_operands(opencl_call& call, index_t piece) const {
        auto const pass = [&](auto const& x, index_t step, auto const& sum) {
            if constexpr (combined)
                if (sum.terms > 1) return pass_sum(call, sum, step);
            call(x.data.buffer, opencl_place(x, step));
        };
        if constexpr (combined)
            pass(p_.a, p_.a_step, rest_.a), pass(p_.b, p_.b_step, rest_.b);
        else
            pass(p_.a, p_.a_step, rest_), pass(p_.b, p_.b_step, rest_);
        call(cl_int4{{static_cast<cl_int>(p_.c.rows), static_cast<cl_int>(p_.c.cols),
                      static_cast<cl_int>(p_.a.cols), static_cast<cl_int>(p_.count)}},
             static_cast<cl_int>(piece));
    }
    void pass_result(opencl_call& call) const {
        if constexpr (combined)
            if (rest_.c.targets > 0) {
                for (int t = 0; t < rest_.c.targets; ++t) {
                    auto const& x = rest_.c.at[t];
                    opencl_view<Out const> const from =
                        x.keep != Scalar(0) ? x.from : opencl_view<Out const>(x.to);
                    call(from.data, cl_long2{{from.row_stride, from.col_stride}}, x.to.data,
                         cl_long2{{x.to.row_stride, x.to.col_stride}}, x.factor, x.keep);
                }
                return call(flags());
            }
        call(adds() ? p_.e.data.buffer : p_.c.data.buffer, opencl_place(p_.e, p_.e_step));
        call(p_.c.data.buffer, opencl_place(p_.c, p_.c_step), p_.alpha, p_.beta, flags(),
             cl_long2{{p_.row0, p_.col0}});
        epilogue_.pass(call);
    }
    cl_int flags() const {
        int flags = flags_of(p_, turned_);
        if constexpr (combined) {
            auto const mark = [&](bool is_set, int flag, int t) { flags |= is_set ? flag << t : 0; };
            for (int t = 0; t < rest_.a.terms; ++t) mark(rest_.a.term[t].conjugate, 32, t);
            for (int t = 0; t < rest_.b.terms; ++t) mark(rest_.b.term[t].conjugate, 512, t);
            for (int t = 0; t < rest_.c.targets; ++t) {
                bool const keeps = rest_.c.at[t].keep != Scalar(0);
                mark(keeps && rest_.c.at[t].from.conjugate, 8192, t);
                mark(keeps, 131072, t);
            }
        }
        return flags;
    }

    // ---- sums and spreads --------------------------------------------------------------------------------

    index_t piece() const { return invariant_ ? opencl_piece(p_.a.cols) : p_.a.cols; }
    opencl_form own_form() const {
        opencl_form form;
        form.invariant = invariant_, form.pieces = piece() < p_.a.cols;
        if constexpr (combined) {
            if (rest_.a.terms > 1) form.a_sum = form_of(rest_.a);
            if (rest_.b.terms > 1) form.b_sum = form_of(rest_.b);
            form.targets = static_cast<short>(rest_.c.targets);
        }
        return form;
    }
    template <class F>
    void each_of_a(F const& f) const {
        if constexpr (combined)
            if (rest_.a.terms > 1) return rest_.a.each_view(f);
        f(p_.a);
    }
    template <class F>
    void each_of_b(F const& f) const {
        if constexpr (combined)
            if (rest_.b.terms > 1) return rest_.b.each_view(f);
        f(p_.b);
    }
    status check_rest() const {
        status s;
        auto const check = [&](auto const& v) {
            if (s) s = session_.check_buffers(v.data.buffer);
        };
        rest_.a.each_view(check), rest_.b.each_view(check), rest_.c.each_view(check);
        for (int t = 0; t < rest_.c.targets; ++t)
            if (rest_.c.at[t].keep != Scalar(0)) check(rest_.c.at[t].from);
        return s;
    }

    opencl_session& session_;
    bool invariant_, turned_;
    Problem p_;
    opencl_epilogue<Scalar> epilogue_;
    [[no_unique_address]] Rest rest_;
};

STRATAGEMM_END
