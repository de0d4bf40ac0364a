// The products: what each kernel is given, and queuing it.
#pragma once

#include "choice.hpp"
#include "fetched.hpp"

STRATAGEMM_BEGIN

// One product as kernels take it: turned if need be, so that the columns of C have its smaller stride. A
// vector is one column.
template <class Problem>
class cuda_product {
    using In = typename Problem::a_type;
    using Out = typename Problem::c_type;
    using Scalar = typename Problem::scalar;

public:
    cuda_product(cuda_session& session, CUstream stream, Problem const& given)
        : session_(session), stream_(stream), turned_(turns(given)), p_(turned_ ? given.transposed() : given),
          epilogue_(given.epilogue) {}

    static bool turns(Problem const& p) { return p.c.cols != 1 && (p.c.rows == 1 || rows_are_closer(p.c)); }

    // What the device could not be told: asked before anything is queued.
    status check(bool pointers) const {
        if (status s = session_.ready(); !s) return s;
        return check(session_, p_, epilogue_, pointers);
    }
    static status check(cuda_session const& session, Problem const& p, cuda_epilogue<Scalar> const& epilogue,
                        bool pointers) {
        if (pointers) {
            void const* const all[] = {p.a.data.address, p.b.data.address, p.c.data.address,
                                       p.beta != Scalar(0) ? p.e.data.address : p.c.data.address};
            for (void const* const x : all)
                if (status s = session.check_pointer(x); !s) return s;
        }
        if (status s = check_sides(p, "cuda"); !s) return s;
        return epilogue.check();
    }

    cuda_sides sides() const { return sides_of(p_); }

    // As kernels take an oriented one.
    static cuda_arguments<Scalar> arguments_of(Problem const& p, bool turned) {
        cuda_arguments<Scalar> x;
        x.a = cuda_place(p.a, p.a_step), x.b = cuda_place(p.b, p.b_step);
        x.e = cuda_place(p.e, p.e_step), x.c = cuda_place(p.c, p.c_step);
        x.row0 = p.row0, x.col0 = p.col0;
        x.m = static_cast<int>(p.c.rows), x.n = static_cast<int>(p.c.cols);
        x.k = static_cast<int>(p.a.cols), x.count = static_cast<int>(p.count);
        x.flags = flags_of(p, turned);
        x.alpha = p.alpha, x.beta = p.beta;
        return x;
    }
    static cuda_lying<In> lying_a(Problem const& p) { return cuda_lying_of<In>(p.a, p.a_step, p.count); }
    static cuda_lying<In> lying_b(Problem const& p) {
        return cuda_lying_of<In>(transposed(p.b), p.b_step, p.count);
    }
    // A cluster takes tiles below each other, as many as it has blocks.
    static index_t tiles_of(cuda_tile const& tile, cuda_sides const& s) {
        index_t const blocks = tile.cluster;
        return ((s.m - 1) / (tile.m * blocks) + 1) * blocks * ((s.n - 1) / tile.n + 1);
    }

    // What a product may take besides: sums of parts of k, and copies of the operands.
    static std::size_t workspace(cuda_choice const& choice, cuda_sides const& s) {
        std::size_t bytes = 0;
        if (choice.part > 0)
            bytes += cuda_arena::rounded(static_cast<std::size_t>(sums_of_parts(choice, s)) * sizeof(Scalar));
        if (reads_lines(choice.tile.engine))
            bytes += cuda_lines<In>::bytes_either(s.m, s.k, s.count) +
                     cuda_lines<In>::bytes_either(s.k, s.n, s.count);
        return bytes;
    }

    status run(cuda_choice const& choice, cuda_arena& memory) const {
        cuda_arena::scope const until_return(memory);
        if (choice.tile.engine == cuda_engine::direct) return run_directly();
        cuda_arguments<Scalar> const x = arguments_of(p_, turned_);
        if (choice.tile.engine == cuda_engine::vector) return run_vector(x);
        if (choice.part == 0) return run_tiles(choice, form_of(choice.tile), x, epilogue_, memory);

        // Sums of parts of k, and then their sum. In order always, so that the result is always the same.
        bool const tail = choice.whole > 0;
        cuda_form form = form_of(choice.tile);
        form.partial = !tail, form.tail = tail;
        cuda_pointer<Scalar> const partial = memory.take<Scalar>(sums_of_parts(choice, sides()));
        cuda_arguments<Scalar> sums = x, sum = x;
        sums.part = sum.part = static_cast<int>(choice.part);
        sum.a.data = partial.address;
        if (tail) {
            sums.a.data = partial.address;
            sums.count = sum.count = static_cast<int>(choice.whole);
            sum.alpha = Scalar(1); // parts have it
        } else {
            sums.c.data = partial.address;
            sums.alpha = Scalar(1);
        }
        index_t const fours = tail ? tail_of(choice, sides()) * (choice.tile.m * choice.tile.n / 4)
                                   : p_.c.rows * ((p_.c.cols + 3) / 4);
        // Many parts of few elements: several threads for each.
        int const slices = tail || choice.parts(p_.a.cols) < 16 ? 1 : p_.c.rows * p_.c.cols > 100000 ? 8 : 32;
        cuda_tile shared = tail ? choice.tile : cuda_tile{};
        cuda_form gathered;
        gathered.tail = tail;
        if (!tail) shared.stages = static_cast<short>(slices); // stands for the definition
        auto gather =
            session_.kernel({cuda_operation::gather,
                             {type_letter<In>(), type_letter<Out>()},
                             shared,
                             gathered,
                             epilogue_.text()},
                            [&] { return cuda_gather_source<In, Out>(shared, gathered, slices, epilogue_); });
        if (!gather) return gather.take_status();
        cuda_epilogue<Scalar> const none{identity{}};
        if (status s = run_tiles(choice, form, sums, tail ? epilogue_ : none, memory); !s) return s;
        return launch(**gather, (fours - 1) / (256 / slices) + 1, 256, sum);
    }

private:
    // Tiles that are in parts where the others are whole.
    static index_t tail_of(cuda_choice const& choice, cuda_sides const& s) {
        return tiles_of(choice.tile, s) - choice.whole;
    }
    // Rows of workspace begin at multiples of four; those of a tail are whole tiles.
    static index_t sums_of_parts(cuda_choice const& choice, cuda_sides const& s) {
        if (choice.whole > 0) return choice.parts(s.k) * tail_of(choice, s) * choice.tile.m * choice.tile.n;
        return choice.parts(s.k) * s.m * ((s.n + 3) / 4 * 4);
    }
    // As the operands lie, or as their copies will.
    cuda_form form_of(cuda_tile const& tile) const {
        cuda_form f;
        f.a_along_k = lying_a(p_).along_k, f.b_along_k = lying_b(p_).along_k;
        if (tile.engine == cuda_engine::small) {
            auto const dense = [&](cuda_lying<In> const& x) {
                index_t const size = x.view.rows * x.view.cols;
                return reinterpret_cast<std::uintptr_t>(x.view.data.address) % 16 == 0 &&
                       size * tile.group * static_cast<index_t>(sizeof(In)) % 16 == 0 && x.step == size &&
                       x.view.col_stride == 1 && (x.view.row_stride == x.view.cols || x.view.rows == 1);
            };
            f.dense = dense(lying_a(p_)) && dense(lying_b(p_));
        }
        return form_for(tile, sizeof(In), f);
    }
    status launch(cuda_compiled const& compiled, index_t blocks, int threads,
                  cuda_arguments<Scalar> const& x) const {
        if (blocks > device_longest)
            return error(errc::unsupported, "cuda: a product is too large for one launch; multiply blocks");
        return session_.launch(stream_, compiled,
                               {static_cast<unsigned>(blocks), static_cast<unsigned>(threads)}, x,
                               epilogue_.bytes());
    }

    status run_directly() const {
        cuda_kernel_key const key{
            cuda_operation::product, {type_letter<In>(), type_letter<Out>()}, {}, {}, epilogue_.text()};
        auto compiled = session_.kernel(
            key, [&] { return cuda_source_of<In, Out>("direct", cuda_direct_text, epilogue_); });
        if (!compiled) return compiled.take_status();
        return launch(**compiled, (p_.c.rows * p_.c.cols * p_.count - 1) / 128 + 1, 128,
                      arguments_of(p_, turned_));
    }

    status run_vector(cuda_arguments<Scalar> const& x) const {
        cuda_lying<In> const a = lying_a(p_);
        constexpr index_t unit = cuda_lines<In>::unit > 0 ? cuda_lines<In>::unit : 1;
        cuda_form form;
        form.a_along_k = a.along_k;
        form.dense = a.view.col_stride == 1 && a.view.row_stride % unit == 0 && a.step % unit == 0 &&
                     reinterpret_cast<std::uintptr_t>(a.view.data.address) % 16 == 0;
        cuda_tile tile{.engine = cuda_engine::vector, .n = 1};
        tile.m = static_cast<short>(a.along_k ? 8 : form.dense ? 32 * unit : 32);
        auto compiled = session_.kernel(
            {cuda_operation::product, {type_letter<In>(), type_letter<Out>()}, tile, form, epilogue_.text()},
            [&] { return cuda_product_source<In, Out>(tile, form, epilogue_); });
        if (!compiled) return compiled.take_status();
        return launch(**compiled, ((p_.c.rows - 1) / tile.m + 1) * p_.count, threads_of(tile), x);
    }

    // To C, or of parts of k to workspace.
    status run_tiles(cuda_choice const& choice, cuda_form const& form, cuda_arguments<Scalar> const& x,
                     cuda_epilogue<Scalar> const& epilogue, cuda_arena& memory) const {
        cuda_tile const& tile = choice.tile;
        auto compiled = session_.kernel(
            {cuda_operation::product, {type_letter<In>(), type_letter<Out>()}, tile, form, epilogue.text()},
            [&] { return cuda_product_source<In, Out>(tile, form, epilogue); });
        if (!compiled) return compiled.take_status();
        if (tile.engine == cuda_engine::small) {
            index_t const groups = (p_.count - 1) / tile.group + 1;
            index_t const places = static_cast<index_t>(session_.device().units) * (*compiled)->resident;
            bool const stay = tile.stages > 1 && groups > places;
            return launch(**compiled, stay ? places : groups, threads_of(tile), x);
        }
        cuda_tile const on_c = lying_on_c(tile, form, sizeof(In));
        index_t const parts = choice.parts(p_.a.cols);
        index_t const tiles = form.tail ? choice.whole + tail_of(choice, sides()) * parts
                                        : tiles_of(on_c, sides()) * (form.partial ? parts : p_.count);
        if (!reads_lines(tile.engine)) return launch(**compiled, tiles, threads_of(tile), x);

        cuda_packing<In> copies;
        cuda_lines<In> const a = fetchable(lying_a(p_), form.a_along_k, copies, memory);
        cuda_lines<In> const b = fetchable(lying_b(p_), form.b_along_k, copies, memory);
        if (status s = copies.run(session_, stream_); !s) return s;
        if (!fetches(tile.engine)) {
            cuda_arguments<Scalar> lying = x;
            lying.a = {a.data, form.a_along_k ? a.stride : 1, form.a_along_k ? 1 : a.stride, a.step};
            lying.b = {b.data, form.b_along_k ? 1 : b.stride, form.b_along_k ? b.stride : 1, b.step};
            return launch(**compiled, tiles, threads_of(tile), lying);
        }
        index_t const line = 128 / static_cast<index_t>(sizeof(In));
        auto const map = [&](CUtensorMap& to, cuda_lines<In> const& l, bool along_k, index_t side) {
            if (along_k) return cuda_map_of(session_, to, l, line, side, true);
            bool const swizzled = tile.engine != cuda_engine::simt;
            return cuda_map_of(session_, to, l, swizzled ? line : side, tile.k, swizzled);
        };
        CUtensorMap a_map, b_map;
        if (status s = map(a_map, a, form.a_along_k, on_c.m); !s) return s;
        if (status s = map(b_map, b, form.b_along_k, form.b_along_k ? on_c.n / tile.cluster : on_c.n); !s)
            return s;
        cuda_grid grid;
        grid.threads = static_cast<unsigned>(threads_of(tile)),
        grid.cluster = static_cast<unsigned>(tile.cluster);
        index_t const most = session_.device().units * (*compiled)->resident / tile.cluster * tile.cluster;
        grid.blocks = static_cast<unsigned>(tiles < most ? tiles : most);
        if (tile.engine != cuda_engine::wgmma)
            return session_.launch(stream_, **compiled, grid, a_map, b_map, x, epilogue.bytes());
        // C as well, if the hardware can store it: in boxes of 128 bytes by so many rows as the kernel has.
        // Rows end for it where 16 bytes do (it fetches no further than they go, but stores what rounds them
        // up).
        cuda_arguments<Scalar> told = x;
        CUtensorMap c_map{};
        index_t const wide = 128 / static_cast<index_t>(sizeof(Out));
        cuda_lines<Out> const c{
            static_cast<Out const*>(x.c.data), p_.c.rows, p_.c.cols, p_.count, p_.c.row_stride, p_.c_step};
        if (!form.partial && p_.beta == Scalar(0) && p_.c.col_stride == 1 && on_c.n % wide == 0 &&
            c.length % c.unit == 0 && c.can_be_fetched()) {
            index_t const rows = is_turned(tile, form, sizeof(In)) ? 32 : 16;
            if (status s = cuda_map_of(session_, c_map, c, wide, rows, true); !s) return s;
            told.flags |= 32; // as prelude.cu.hpp names it
        }
        return session_.launch(stream_, **compiled, grid, a_map, b_map, c_map, told, epilogue.bytes());
    }

    // The operand itself, or a copy in memory that it takes.
    static cuda_lines<In> fetchable(cuda_lying<In> lying, bool along_k, cuda_packing<In>& copies,
                                    cuda_arena& memory) {
        if (lying.along_k != along_k) {
            lying.view = transposed(lying.view);
        } else if (cuda_lines<In> const lines = cuda_lines_of(lying); lines.can_be_fetched()) {
            return lines;
        }
        return copies.add(lying, memory);
    }

    cuda_session& session_;
    CUstream stream_;
    bool turned_;
    Problem p_;
    cuda_epilogue<Scalar> epilogue_;
};

STRATAGEMM_END
