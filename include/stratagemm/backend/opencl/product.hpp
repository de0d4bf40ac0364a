// The products: what each kernel is given, and queuing it.
#pragma once

#include "choice.hpp"
#include "operations.hpp"

STRATAGEMM_BEGIN

// One product as kernels take it: turned if need be, so that the columns of C have its smaller stride, or so that they
// are the few where there are few.
template <class Problem>
class opencl_product {
    using In = typename Problem::a_type;
    using Out = typename Problem::c_type;
    using Scalar = typename Problem::scalar;

public:
    opencl_product(opencl_session& session, Problem const& given)
        : session_(session), turned_(is_turned(given.c)), p_(turned_ ? given.transposed() : given),
          epilogue_(given.epilogue) {}

    // What the device could not be told: asked before anything is queued.
    status check() const {
        if (status s = session_.check_buffers(p_.a.data.buffer, p_.b.data.buffer, p_.c.data.buffer); !s)
            return s;
        if (adds())
            if (status s = session_.check_buffers(p_.e.data.buffer); !s) return s;
        if (status s = check_sides(p_, "opencl"); !s) return s;
        return epilogue_.check();
    }

    opencl_sides sides() const { return sides_of(p_); }
    bool a_along_k() const { return magnitude(p_.a.col_stride) <= magnitude(p_.a.row_stride); }

    status run(opencl_choice const& choice, opencl_arena& memory) const {
        // Tuning in another thread may have changed the choice since the arena was made.
        if (choice.part > 0 && !memory.fits(parts_footprint(choice.part)))
            return run({choice.tile, 0, choice.way}, memory);
        opencl_form form;
        form.partial = choice.part > 0;
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
    template <class V>
    static bool is_turned(V const& c) {
        bool const narrow = c.rows != c.cols && (c.rows <= opencl_narrow || c.cols <= opencl_narrow);
        return narrow ? c.rows < c.cols : rows_are_closer(c);
    }
    bool adds() const { return p_.beta != Scalar(0); }

    bool b_along_k() const { return magnitude(p_.b.row_stride) < magnitude(p_.b.col_stride); }

    // Fills in how the operands lie, and makes the loads as narrow as they ask.
    opencl_tile fitted(opencl_choice const& choice, opencl_form& form) const {
        opencl_tile tile = choice.tile;
        form.a_along_k = a_along_k();
        form.b_along_k = b_along_k();
        form.guard = is_guarded(choice, sides());
        index_t const a_unit = form.a_along_k ? p_.a.col_stride : p_.a.row_stride;
        index_t const b_unit = form.b_along_k ? p_.b.row_stride : p_.b.col_stride;
        if (complex_like<In>) tile.lanes_m = tile.lanes_n = 1; // there are no vectors of complex numbers
        bool const vectors = !complex_like<In> && !form.guard;
        tile.a_width = vectors && a_unit == 1 ? tile.a_width : short{1};
        tile.b_width = vectors && b_unit == 1 ? tile.b_width : short{1};
        bool const a_aligned =
            is_aligned(p_.a.data.offset, p_.a_step, form.a_along_k ? p_.a.row_stride : p_.a.col_stride,
                       form.a_along_k ? p_.a.cols : p_.a.rows, tile.a_width);
        bool const b_aligned =
            is_aligned(p_.b.data.offset, p_.b_step, form.b_along_k ? p_.b.col_stride : p_.b.row_stride,
                       form.b_along_k ? p_.b.rows : p_.b.cols, tile.b_width);
        form.aligned = a_aligned && b_aligned;
        form.wide = is_wide(tile.lanes_n, choice.part > 0);
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

    // Whether C and E can be taken by vectors of `lanes` columns. Of workspace only the row length matters.
    bool is_wide(short lanes, bool partial) const {
        auto const rows = [&](auto const& v, index_t step) {
            return v.col_stride == 1 && is_aligned(v.data.offset, step, v.row_stride, v.cols, lanes);
        };
        return lanes > 1 && !complex_like<Out> && std::is_same_v<accumulator_t<In>, Out> &&
               p_.c.cols % lanes == 0 &&
               (partial || (rows(p_.c, p_.c_step) && (!adds() || rows(p_.e, p_.e_step))));
    }

    footprint parts_footprint(index_t part) const {
        footprint f;
        f.device = opencl_arena::rounded(
            static_cast<std::size_t>((p_.a.cols + part - 1) / part * p_.c.rows * p_.c.cols) * sizeof(Scalar));
        return f;
    }

    opencl_kernel_key key(opencl_operation operation, opencl_tile const& tile = {},
                          opencl_form form = {}) const {
        return {operation, {type_letter<In>(), type_letter<Out>()}, tile, form, epilogue_.text()};
    }
    static std::size_t groups_of(opencl_tile const& tile, opencl_sides const& s) {
        auto const up = [](index_t x, index_t y) { return static_cast<std::size_t>((x + y - 1) / y); };
        return up(s.m, tile.tile_m()) * up(s.n, tile.tile_n());
    }

    status run_directly() const {
        auto compiled = session_.kernel(key(opencl_operation::direct), [&] {
            return opencl_source_of<In, Out>("direct", opencl_direct_text, epilogue_);
        });
        if (!compiled) return compiled.take_status();
        auto const elements = static_cast<std::size_t>(p_.c.rows * p_.c.cols * p_.count);
        return session_.launch(**compiled, {{(elements + 63) / 64, 1, 1}, {64, 1, 1}},
                               [&](opencl_call& call) {
                                   pass_operands(call, p_.count);
                                   pass_result(call);
                               });
    }

    status run_small(opencl_tile const& tile) const {
        opencl_form form;
        form.a_along_k = a_along_k(), form.b_along_k = b_along_k();
        opencl_kernel_key small = key(opencl_operation::small, tile, form);
        small.sides = {p_.c.rows, p_.c.cols, p_.a.cols};
        auto compiled = session_.kernel(small, [&] {
            std::string text = definitions(tile, form);
            for (std::size_t i = 0; i < 3; ++i)
                text += std::string("#define SIDE_") + "MNK"[i] + ' ' + std::to_string(small.sides[i]) + '\n';
            return opencl_source_of<In, Out>("small", opencl_small_text, epilogue_, text);
        });
        if (!compiled) return compiled.take_status();
        auto const together = static_cast<std::size_t>(tile.slices);
        return session_.launch(**compiled,
                               {{(static_cast<std::size_t>(p_.count) + together - 1) / together, 1, 1},
                                {static_cast<std::size_t>(tile.threads()), 1, 1}},
                               [&](opencl_call& call) {
                                   pass_operands(call, p_.count);
                                   pass_result(call);
                               });
    }

    struct named_text {
        char const* kernel;
        char const* text;
    };
    // So many groups for each product of the batch, or for each part of k. Sums of parts are summed in the order of
    // the parts always, so that the result is always the same.
    status run_groups(opencl_operation operation, named_text source, opencl_tile const& tile,
                      opencl_form const& form, std::size_t groups, index_t part, opencl_arena& memory) const {
        opencl_epilogue<Scalar> const none{identity{}};
        opencl_kernel_key own = key(operation, tile, form);
        if (form.partial) own.text.clear();
        auto compiled = session_.kernel(own, [&] {
            std::string const text = definitions(tile, form);
            return form.partial ? opencl_source_of<In, Out>(source.kernel, source.text, none, text)
                                : opencl_source_of<In, Out>(source.kernel, source.text, epilogue_, text);
        });
        if (!compiled) return compiled.take_status();
        auto const items = static_cast<std::size_t>(tile.threads());
        if (!form.partial)
            return session_.launch(**compiled,
                                   {{groups, static_cast<std::size_t>(p_.count), 1}, {items, 1, 1}},
                                   [&](opencl_call& call) {
                                       pass_operands(call, p_.count);
                                       pass_result(call);
                                   });

        auto gather = session_.kernel(key(opencl_operation::gather), [&] {
            return opencl_source_of<In, Out>("gather", opencl_gather_text, epilogue_);
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

    void pass_operands(opencl_call& call, index_t last) const {
        call(p_.a.data.buffer, opencl_place(p_.a, p_.a_step), p_.b.data.buffer, opencl_place(p_.b, p_.b_step),
             cl_int4{{static_cast<cl_int>(p_.c.rows), static_cast<cl_int>(p_.c.cols),
                      static_cast<cl_int>(p_.a.cols), static_cast<cl_int>(last)}});
    }
    void pass_result(opencl_call& call) const {
        call(adds() ? p_.e.data.buffer : p_.c.data.buffer, opencl_place(p_.e, p_.e_step));
        call(p_.c.data.buffer, opencl_place(p_.c, p_.c_step), p_.alpha, p_.beta, flags(),
             cl_long2{{p_.row0, p_.col0}});
        epilogue_.pass(call);
    }
    cl_int flags() const { return flags_of(p_, turned_); }

    opencl_session& session_;
    bool turned_;
    Problem p_;
    opencl_epilogue<Scalar> epilogue_;
};

STRATAGEMM_END
