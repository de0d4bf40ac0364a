// CUDA devices: kernels compiled when they are first needed, kept in memory and on disk, queued on a stream.
//
//   sg::cuda gpu;                                 the first device, and the stream 0 of every CUDA program
//   sg::cuda gpu{.device = 1, .stream = s};       a cudaStream_t or CUstream of your own, of that device
//   sg::cuda::matrix<float> a(gpu, host_a), c(gpu, m, n);
//   auto b = sg::cuda::on_device(sg::row_major(pointer, k, n));     memory of your own, such as cudaMalloc's
//   sg::gemm(gpu, a, b, c);                       returns when it is queued
//   c.download(host_c);                           waits
//
// Compiling takes the headers of the CUDA toolkit, no nvcc, and no library to link. Running takes a driver, and NVRTC
// unless all kernels are in the cache. Without them every call reports what is missing. A policy is a device and a
// stream and no more: the stream orders the products, and no call waits for them. With an arena a call allocates
// nothing. Such a call can be captured in a graph, once it has run before, which compiles its kernels.
//
// The policy also accepts operands on the host, if the header that copies them to a device is included
// (docs/devices.md).
#pragma once

#include "../device/device_matrix.hpp"
#include "../gemm.hpp"
#include "cuda/group.hpp"
#include "cuda/tuning/tuner.hpp"

#include <array>
#include <cstdint>

STRATAGEMM_BEGIN

struct cuda {
    int device = 0;
    CUstream stream = nullptr;
    bool check_pointers = false; // ask the driver, for each operand, whether it is on the device
    bool tf32 = false;           // products of floats may round them to tf32: ten bits after the first
    cuda_configuration tile{};   // one for every product that can use it; by default chosen for each
    // The order of the sum of an element depends on k, the types and the architecture only; see docs/accuracy.md.
    bool invariant = false;

    using space = cuda_memory;
    using arena = cuda_arena;
    static constexpr bool is_backend = true;

    static std::vector<cuda_device> devices() {
        std::vector<cuda_device> all;
        for (int i = 0; i < count_cuda_devices(); ++i) all.push_back(describe_cuda_device(i));
        return all;
    }

    template <element T>
    using matrix = device_matrix<T, cuda>;

    // The same matrix, batch or other operand, with pointers that are those of a device.
    template <operand M>
    static auto on_device(M&& x) {
        auto const v = as_view(x);
        auto move = []<class T>(stratagemm::view<T> const& w) {
            return cuda_view<T>{{w.data}, w.rows, w.cols, w.row_stride, w.col_stride, w.scale, w.conjugate};
        };
        if constexpr (is_batch<std::remove_cvref_t<decltype(v)>>::value)
            return batched(move(v.first), v.count, v.stride);
        else if constexpr (requires { v.template in_space<space>(); })
            return v.template in_space<space>();
        else
            return move(v);
    }

    cuda_device const& where() const { return session().device(); }
    // Why no product can run; success if one can.
    status ready() const { return session().ready(); }
    status synchronize() const { return session().synchronize(stream); }

    // C has the accumulator's type; or, for 16-bit and int8 operands, their own type; or, for fp8, either type of 16
    // bits. Epilogues need a device source. Sums in int8 are modulo 2^8. If the operands have two types, one type holds
    // all numbers of the other, and the product is that of the wider type.
    template <class P>
    static constexpr verdict accepts =
        types_if(have_wider<typename P::a_type, typename P::b_type>&& element<typename P::wide_type> &&
                 !std::is_same_v<typename P::wide_type, std::int32_t> &&
                 (std::is_same_v<typename P::c_type, typename P::scalar> ||
                  (std::is_same_v<typename P::c_type, typename P::wide_type> &&
                   (sizeof(typename P::wide_type) == 2 || std::is_integral_v<typename P::wide_type>)) ||
                  (is_fp8<typename P::wide_type> && sizeof(typename P::c_type) == 2))) &
        epilogue_if(has_source<typename P::epilogue_type, cuda_epilogue<typename P::scalar>>);

    // Sums of up to four matrices of floats, doubles or complex numbers, with one result or up to four.
    template <class P>
    static constexpr verdict accepts_operands = [] {
        using T = typename P::a_type;
        if constexpr (!is_combination<typename P::a_operand> || !is_combination<typename P::b_operand> ||
                      !is_combination<typename P::c_operand>)
            return verdict::structure;
        else if constexpr (P::a_operand::most_views > cuda_most_terms ||
                           P::b_operand::most_views > cuda_most_terms ||
                           P::c_operand::most_views > cuda_most_targets)
            return verdict::structure;
        else
            return types_if(
                       (std::floating_point<T> || complex_like<T>)&&std::is_same_v<T, typename P::b_type> &&
                       std::is_same_v<T, typename P::c_type>) &
                   (is_view<typename P::c_operand>::value
                        ? epilogue_if(
                              has_source<typename P::epilogue_type, cuda_epilogue<typename P::scalar>>)
                        : epilogue_if(std::is_same_v<typename P::epilogue_type, identity>));
    }();

    cuda_operations leaf() const { return cuda_operations(session(), stream); }

    result<arena> reserve(footprint f) const {
        return or_no_memory([&]() -> result<arena> {
            if (status s = ready(); !s) return result<arena>(std::move(s));
            if (f.device == 0) return arena{};
            return leaf().reserve(f.device);
        });
    }

    // The workspace covers every layout of the operands, which the shape does not tell.
    template <class S>
    requires has_one_type<S> footprint workspace(S const& s)
    const {
        using In = typename S::a_type;
        using Problem = dense_problem<In, In, typename S::c_type, space>;
        footprint f;
        cuda_sides const either[] = {{s.m, s.n, s.k, s.count}, {s.n, s.m, s.k, s.count}};
        for (cuda_sides const& sides : either)
            for (cuda_layout const& layout : layouts) {
                auto const with = [&](cuda_choice const& choice) {
                    f.device = larger(f.device,
                                      cuda_product<Problem>::workspace(choice, sides, terms_beside<S> > 0));
                    // These kernels need an A whose elements are side by side. Another A may need copies.
                    return (choice.tile.as<cuda_narrow>() && choice.shifted) ||
                           choice.tile.as<cuda_ordered>();
                };
                if (with(choice_for<In>(sides, layout))) with(choice_for<In>(sides, any_layout));
            }
        return f;
    }

    // The workspace of operands of two types: copies of those that are widened, which need not be lines, beside the
    // workspace of the product of the wider type.
    template <class S>
    requires(!has_one_type<S>) footprint workspace(S const& s)
    const {
        using W = typename S::wide_type;
        using Problem = dense_problem<W, W, typename S::c_type, space>;
        footprint f = workspace(widened(s)), sums;
        for (bool const turned : {false, true})
            for (cuda_layout const& layout : layouts) {
                cuda_sides const sides{turned ? s.n : s.m, turned ? s.m : s.n, s.k, s.count};
                cuda_choice const parts = choice_of_two<W>(sides, stored<S>(layout, turned));
                if (parts.widens) // nothing is copied
                    sums.device = larger(sums.device, cuda_product<Problem>::bytes_of_parts(parts, sides));
            }
        if constexpr (!std::is_same_v<typename S::a_type, W>)
            f.device += cuda_lines<W>::bytes_either(s.m, s.k, s.count);
        if constexpr (!std::is_same_v<typename S::b_type, W>)
            f.device += cuda_lines<W>::bytes_either(s.k, s.n, s.count);
        return larger(f, sums);
    }

    // The workspace of operands that are known. Most products need none, and are queued sooner without workspace.
    template <class Problem>
    footprint workspace_for(Problem const& p) const {
        if constexpr (is_dense<Problem> && has_one_type<Problem>) {
            using In = typename Problem::a_type;
            cuda_product<Problem> const product(session(), stream, p, in_order<In>());
            footprint f;
            f.device = product.workspace(choice_for<In>(product.sides(), product.layout()));
            return f;
        } else if constexpr (!has_one_type<Problem>) {
            footprint f;
            bool const read = as_stored(p, [&](auto const& product, cuda_choice const& choice) {
                f.device = product.workspace(choice);
            });
            return read ? f : workspace(p.shape());
        } else {
            return workspace(p.shape());
        }
    }

    // Each element is one sum, or a sum of sums.
    template <class S>
    bound error_bound(S const& s) const {
        using TA = typename S::wide_type;
        if constexpr (std::is_integral_v<accumulator_t<TA>>) {
            return {};
        } else {
            double const u = unit_roundoff<accumulator_t<TA>>(), out = unit_roundoff<typename S::c_type>();
            double const last = sizeof(typename S::c_type) < sizeof(accumulator_t<TA>) ? out : 0;
            auto const length = static_cast<double>(s.k + terms_beside<S>);
            double const spread = complex_like<TA> ? 1.5 : 1;
            bound b{spread * 1.01 * (length + 4) * u, spread * (3 + 2 * __builtin_sqrt(length)) * u};
            // A shape does not tell the layout of the operands, or whether C is turned.
            bool on_tensor_cores = false;
            cuda_sides const either[] = {sides_for(s), {s.n, s.m, s.k, s.count}};
            for (cuda_sides const& sides : either)
                for (cuda_layout const& layout : layouts)
                    on_tensor_cores |= truncates(choice_for<TA>(sides, layout).tile, sizeof(TA));
            if (on_tensor_cores) {
                // Tensor cores truncate where other units round, about once for `terms_per_rounding`.
                double const terms_per_rounding = where().capability >= 90   ? 16
                                                  : where().capability >= 80 ? 8
                                                                             : 4;
                b = {2 * b.worst, b.expected + length / terms_per_rounding * u};
                double const tf = sizeof(TA) == 4 ? 0x1p-9 : 0;
                b.worst += tf, b.expected += tf;
                // For fp8, tensor cores add 32 products and a sum, and keep 13 bits after the first of the largest of
                // these (Khattak, Mikaitis: Accurate models of NVIDIA tensor cores, 2025). They do so up to four times
                // in a row.
                double const times = !is_fp8<TA> ? 0 : s.k < 128 ? static_cast<double>((s.k + 31) / 32) : 4;
                b.worst += 33 * times * 0x1p-13, b.expected += 2 * times * 0x1p-13;
            }
            if (b.expected > b.worst) b.expected = b.worst;
            return {b.worst + last, b.expected + last};
        }
    }

    // The model that chooses the kernel gives the time, in cycles of a device under load. Reading the operands is a
    // lower limit.
    template <class S>
    double estimate(S const& s) const {
        double const clock = where().capability >= 90 ? 1.75e9 : 1.4e9;
        double const work = choice_in_rows(s).cycles / clock,
                     traffic = operand_bytes(s) / leaf().limits().bandwidth;
        // If products are queued one after another, each begins a microsecond before the previous one ends. A
        // product takes at least the time in which a host queues it, 2.8 to 3.5 us.
        double const alone = work > traffic ? work : traffic;
        return (alone > 4.1e-6 ? alone : 4.1e-6) - 1e-6;
    }

    // The text is for a C in row-major order, and for the layouts that the shape says.
    template <class S>
    std::string describe(S const& s) const {
        cuda_choice const choice = choice_in_rows(s);
        std::string const text = "cuda: " + where().name + ", " + types_of<S>() + ", " +
                                 stratagemm::describe(choice.tile) +
                                 (has_one_type<S> ? ""
                                  : choice.widens ? ", the narrower operand widened as it is read"
                                                  : ", of copies in the wider type");
        std::string const copies = choice.by_reals ? ", of copies as real numbers, twice as many"
                                   : copies_lines(choice.tile, choice)
                                       ? "; operands that cannot be fetched as they lie are copied first"
                                       : "";
        if (choice.part == 0) return text + copies;
        return text + (choice.whole > 0 ? ", of the last round k in parts of " : ", k in parts of ") +
               std::to_string(choice.part) + (choice.together ? " to the blocks of a cluster" : "") + copies;
    }

    // Looks for the best tile for products of T of about this size. A tile that is faster than the one that these
    // products get now is kept for them: in this process, and in the user's cache for the next. No other function looks
    // for tiles. The search takes as long as the given time.
    template <class T>
    result<cuda_tuned> tune(stratagemm::shape<T> const& s, cuda_tuning_options const& options = {}) const {
        auto found = tune_tile(
            *this, s,
            cuda_candidates(where(), letter<T>(), sizeof(T), sizeof(accumulator_t<T>), {s.m, s.n, s.k, 1}),
            options, [&](cuda_configuration const& with) {
                cuda one = *this;
                one.tile = with;
                return one;
            });
        bool const better = found && (found->before < 0 || found->after < found->before);
        if (better && found->tile.is_given())
            session().keep_tuned(tuning_bucket(letter<T>(), s.m, s.n, s.k), found->tile);
        return found;
    }

    template <class Problem>
    status operator()(Problem const& p, arena& memory) const {
        return or_no_memory([&]() -> status {
            if constexpr (!has_one_type<Problem>) {
                return multiply_widened(p, memory);
            } else if constexpr (is_dense<Problem>) {
                return multiply(p, memory);
            } else {
                for (index_t i = 0; i < p.count; ++i) {
                    fusion_of<Problem> fusion;
                    auto const one = cuda_plain(p.at(i), fusion);
                    if (status s = multiply(one, memory, &fusion); !s) return s;
                }
                return {};
            }
        });
    }

    // Products of a group share launches, except those that are faster with a separate launch. All launches are on the
    // stream.
    template <class Problem>
    footprint group_workspace(group<Problem> const& all) const requires has_one_type<Problem> {
        using In = typename Problem::a_type;
        bool share = shares();
        for (Problem const& p : all)
            share &= is_empty(p) ||
                     (surely_shares({p.c.rows, p.c.cols, p.a.cols, p.count}) && may_share<In>(p.a.cols));
        footprint most;
        if (share) return most;
        cuda_group<Problem> const them(session(), stream, all, in_order<typename Problem::a_type>());
        cuda_sharing const sharing = sharing_of(them);
        for (std::size_t i = 0; i < sharing.alone.size(); ++i)
            if (cuda_sides const& s = them.sides()[i]; sharing.alone[i] && !is_empty(all.first[i])) {
                auto const with = [&](cuda_sides const& x) {
                    most.device = larger(most.device,
                                         cuda_product<Problem>::workspace(choice_for<In>(x, any_layout), x));
                };
                with(s);
                cuda_sides const other{s.n, s.m, s.k, s.count};
                for (cuda_sides const& narrow : {s, other})
                    if (reads_shifted(letter<In>(), sizeof(In), where(), narrow, {})) with(other);
            }
        return most;
    }
    template <class Problem>
    status run_group(group<Problem> const& all, arena& memory) const requires has_one_type<Problem> {
        return or_no_memory([&]() -> status {
            cuda_group<Problem> const them(session(), stream, all, in_order<typename Problem::a_type>());
            if (status s = them.check(check_pointers); !s) return s;
            cuda_sharing const sharing = sharing_of(them);
            using In = typename Problem::a_type;
            auto const piece_of = [&](index_t k) -> index_t {
                if (!in_order<In>()) return 0;
                index_t const piece = cuda_order(where(), letter<In>(), k).piece;
                return piece > 0 ? piece : device_longest;
            };
            if (status s = them.run(sharing, piece_of); !s) return s;
            for (index_t i = 0; i < all.count; ++i)
                if (sharing.alone[static_cast<std::size_t>(i)])
                    if (status s = run_checked(*this, all.first[i], memory); !s) return s;
            return {};
        });
    }

private:
    template <class S>
    static auto widened(S const& s) {
        using W = typename S::wide_type;
        stratagemm::shape<W, W, typename S::c_type> wide{s.m, s.n, s.k, s.count, s.adds};
        wide.a_across = s.a_across, wide.b_across = s.b_across, wide.alone = s.alone;
        return wide;
    }

    // The terms that a sum may have beside the first of each operand.
    template <class S>
    static constexpr index_t terms_beside =
        further_terms<typename S::a_form> + further_terms<typename S::b_form>;

    template <class S>
    cuda_sides sides_for(S const& s) const {
        return oriented(letter<typename S::wide_type>(), {s.m, s.n, s.k, s.count});
    }
    // The choice for a C in row-major order.
    template <class S>
    cuda_choice choice_in_rows(S const& s) const {
        using W = typename S::wide_type;
        cuda_sides const own{s.m, s.n, s.k, s.count}, other{s.n, s.m, s.k, s.count};
        auto const layout_if = [&](bool turned) {
            cuda_sides const& x = turned ? other : own;
            // A vector always lies along k.
            return cuda_layout{.a_along_k = (turned ? s.b_across : !s.a_across) || x.m == 1,
                               .b_along_k = (turned ? !s.a_across : s.b_across) || x.n == 1};
        };
        if constexpr (has_one_type<S>) {
            cuda_sides const sides = sides_for(s);
            return choice_for<W>(sides, layout_if(sides != own));
        } else {
            constexpr bool turned =
                std::is_same_v<typename S::a_type, W>; // for few columns A is the narrower
            constexpr std::size_t narrow =
                sizeof(std::conditional_t<turned, typename S::b_type, typename S::a_type>);
            cuda_choice const few = few_columns(turned ? other : own, layout_if(turned), narrow);
            return few.widens ? few : choice_of_two<W>(own, stored<S>(layout_if(false), false));
        }
    }

    // The layout that needs all copies that any other layout needs.
    static constexpr cuda_layout any_layout{true, false, false};
    static constexpr cuda_layout layouts[] = {{false, false}, {false, true}, {true, false}, {true, true}};

    template <class Problem>
    using fusion_of = cuda_fusion<typename Problem::a_type, typename Problem::c_type>;
    template <class Problem>
    status multiply(Problem const& p, arena& memory, fusion_of<Problem> const* fusion = nullptr) const {
        cuda_product<Problem> product(session(), stream, p, in_order<typename Problem::a_type>(), fusion);
        if (status s = product.check(check_pointers); !s) return s;
        using In = typename Problem::a_type;
        cuda_sides const sides = product.sides();
        auto const fits = [&](cuda_choice const& choice) {
            footprint f;
            f.device = product.workspace(choice);
            return memory.fits(f);
        };
        cuda_choice choice = choice_for<In>(sides, product.layout());
        // The arena was sized for a product with another layout, as in a group, or before a product was tuned.
        if (!fits(choice)) choice = choice_for<In>(sides, any_layout);
        if (!fits(choice)) choice = choice_with<In>(sides, tile, any_layout);
        if (!fits(choice))
            return failure(errc::memory, "cuda: tuning changed the tile: call reserve() again");
        return product.run(choice, memory);
    }

    // The choice for operands of two types: the kernel reads them as they are stored, or reads copies, if copies take
    // less time.
    template <class W>
    cuda_choice choice_of_two(cuda_sides const& s, cuda_layout const& layout) const {
        cuda_choice copied = choice_for<W>(s, {layout.a_along_k, layout.b_along_k, layout.a_in_lines});
        copied.cycles += cycles_of_widening(where(), s, layout, sizeof(W));
        cuda_choice const read = choice_for<W>(s, layout);
        return read.widens && read.cycles < copied.cycles ? read : copied;
    }
    // The layout of operands of two types; the second operand comes first if they are `turned`.
    template <class S>
    static cuda_layout stored(cuda_layout layout, bool turned) {
        auto const narrow = []<class T>(T const*) {
            return static_cast<short>(std::is_same_v<T, typename S::wide_type> ? 0 : sizeof(T));
        };
        typename S::a_type const* a = nullptr;
        typename S::b_type const* b = nullptr;
        layout.a_bytes = turned ? narrow(b) : narrow(a), layout.b_bytes = turned ? narrow(a) : narrow(b);
        return layout;
    }

    // The choice for few columns of C if A is narrower than B. If the choice has the direct engine, few columns get no
    // separate kernel.
    cuda_choice few_columns(cuda_sides const& s, cuda_layout const& layout, std::size_t element) const {
        cuda_choice x;
        if (invariant || tile.is_given() || !is_narrow(type_letter<float>(), s)) return x;
        x.tile = cuda_narrow{.n = static_cast<short>(s.n)}, x.widens = true;
        if (s.count > 1) return x;
        cuda_device const& d = where();
        cuda_parts_of_k by_model;
        if (!layout.a_along_k)
            by_model = parts_along_m(type_letter<float>(), element, s, d);
        else if (s.m < d.units && s.k >= 8192)
            by_model.parts = s.k / 2048 < 8 ? s.k / 2048 : 8, by_model.together = d.capability >= 90;
        if (by_model.parts > 1) x.part = cuda_parts_of_k::part_of(s.k, by_model.parts, false);
        if (x.part >= s.k) x.part = 0;
        x.together = by_model.together && x.part > 0;
        return x;
    }
    // Calls f with a product of two types that reads its operands as they are stored, and with the choice for it. Calls
    // nothing if copies are faster.
    template <class Problem, class F>
    bool as_stored(Problem const& p, F const& f) const {
        using W = typename Problem::wide_type;
        auto const look = [&]<class Q>(Q const& q, bool turned, bool few) {
            cuda_product<Q> product(session(), stream, q, turned);
            cuda_choice choice;
            if (!few && product.lies_in_lines()) choice = choice_of_two<W>(product.sides(), product.layout());
            if constexpr (std::is_same_v<typename Q::b_type, W>)
                if (few) choice = few_columns(product.sides(), product.layout(), sizeof(typename Q::a_type));
            if (choice.widens) f(product, choice);
            return choice.widens;
        };
        if (look(p, false, true) || look(p.transposed(), true, true)) return true;
        return p.c.cols != 1 && (p.c.rows == 1 || rows_are_closer(p.c)) ? look(p.transposed(), true, false)
                                                                        : look(p, false, false);
    }

    // The product of operands that are read as they are stored, or the product of the wider type, with copies of the
    // operands that are widened.
    template <class Problem>
    status multiply_widened(Problem const& p, arena& memory) const {
        using W = typename Problem::wide_type;
        if (status s = ready(); !s) return s;
        if (check_pointers)
            for (void const* const x :
                 {static_cast<void const*>(p.a.data.address), static_cast<void const*>(p.b.data.address)})
                if (status s = session().check_pointer(x); !s) return s;
        if (status s = check_sides(p, "cuda"); !s) return s;
        status done;
        bool fits = false;
        as_stored(p, [&](auto& product, cuda_choice const& choice) {
            footprint f;
            f.device = product.workspace(choice);
            if (done = product.check(check_pointers); done && (fits = memory.fits(f)))
                done = product.run(choice, memory);
        });
        if (!done || fits) return done;
        typename arena::scope const until_return(memory);
        dense_problem<W, W, typename Problem::c_type, space> plain;
        plain.alpha = p.alpha, plain.beta = p.beta, plain.e = p.e, plain.c = p.c;
        plain.count = p.count, plain.e_step = p.e_step, plain.c_step = p.c_step;
        plain.row0 = p.row0, plain.col0 = p.col0;
        auto const widen = [&]<class T>(cuda_view<T const> const& x, index_t step, cuda_view<W const>& to,
                                        index_t& to_step) -> status {
            if constexpr (std::is_same_v<T, W>) {
                to = x, to_step = step;
                return {};
            } else {
                cuda_line_view<T> const lines = cuda_line_view_of<T>(x, step, p.count);
                cuda_packing<W, T> copy;
                cuda_lines<W> const l = copy.add(lines, memory);
                to = {{l.data}, l.lines, l.length, l.stride, 1}, to_step = l.step;
                if (!lines.along_k) to = transposed(to);
                return copy.run(session(), stream);
            }
        };
        if (status s = widen(p.a, p.a_step, plain.a, plain.a_step); !s) return s;
        if (status s = widen(p.b, p.b_step, plain.b, plain.b_step); !s) return s;
        return multiply(plain.with_epilogue(p.epilogue), memory);
    }

    // Whether products of a group may share launches: not if the caller wants a tile of another engine.
    bool shares() const { return !tile.is_given() || tile.as<cuda_blocked>(); }
    template <class Problem>
    cuda_sharing sharing_of(cuda_group<Problem> const& them) const {
        using In = typename Problem::a_type;
        if (!shares()) return {{}, std::vector<char>(them.sides().size(), true)};
        cuda_sharing sharing =
            share_out(where(), letter<In>(), sizeof(In), them.sides(), them.most(), tile.as<cuda_blocked>());
        for (std::size_t i = 0; i < sharing.alone.size(); ++i)
            if (!may_share<In>(them.sides()[i].k)) sharing.alone[i] = true;
        return sharing;
    }
    // Integers are exact in any order.
    template <class In>
    bool in_order() const {
        return invariant && !std::is_integral_v<accumulator_t<In>>;
    }
    template <class In>
    bool may_share(index_t k) const {
        return !in_order<In>() ||
               cuda_blocked::keeps_order(cuda_order(where(), letter<In>(), k), letter<In>(), where());
    }

    cuda_session& session() const { return cuda_session::of(device); }

    // The letter of the operands' type; t for floats that may be rounded.
    template <class In>
    char letter() const {
        return tf32 && std::is_same_v<In, float> ? 't' : type_letter<In>();
    }
    template <class In>
    cuda_choice choice_for(cuda_sides const& s, cuda_layout const& layout = {}) const {
        if (tile.is_given() || s.count != 1) return choice_with<In>(s, tile, layout);
        return choice_with<In>(s, session().tuned_for(tuning_bucket(letter<In>(), s.m, s.n, s.k)), layout);
    }
    template <class In>
    cuda_choice choice_with(cuda_sides const& s, cuda_configuration const& only,
                            cuda_layout const& layout) const {
        // Choosing takes longer than queueing what was chosen, and products come again.
        struct known {
            int device = -1;
            char type = 0;
            cuda_layout layout;
            cuda_sides sides{};
            bool invariant = false;
            cuda_configuration only;
            cuda_choice choice;
        };
        // A product looks up its shape in both orientations and in each layout. Two that share a place keep their
        // results.
        thread_local std::array<known, 512> all;
        char const type = letter<In>();
        std::uint64_t place = 0; // from the upper bits: the lower ones of sides are often zero
        for (std::ptrdiff_t const x :
             {s.m, s.n, s.k, s.count,
              std::ptrdiff_t{8192} * layout.b_bytes + std::ptrdiff_t{1024} * layout.a_bytes +
                  std::ptrdiff_t{8} * type + 4 * layout.a_in_lines + 2 * layout.a_along_k + layout.b_along_k})
            place = (place ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
        auto const is_of = [&](known const& k) {
            return k.device == device && k.type == type && k.layout == layout && k.sides == s &&
                   k.invariant == in_order<In>() && k.only == only;
        };
        known &k = all[(place >> 56) * 2], &other = all[(place >> 56) * 2 + 1];
        if (is_of(other)) return other.choice;
        if (is_of(k)) return k.choice;
        other = k;
        k = {device,
             type,
             layout,
             s,
             in_order<In>(),
             only,
             choose({.device = where(),
                     .type = type,
                     .element = sizeof(In),
                     .sides = s,
                     .layout = layout,
                     .invariant = in_order<In>()},
                    only)};
        return k.choice;
    }
};

template <>
struct default_policy<cuda_memory> {
    using type = cuda;
};

STRATAGEMM_END
