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
        cuda_chooser const by = chooser();
        cuda_sides const own = sides_of_shape(s);
        auto const with = [&](cuda_sides const& sides, cuda_choice const& choice) {
            f.device = larger(f.device, cuda_product<Problem>::workspace(choice, sides, terms_beside<S> > 0));
        };
        by.for_each_choice<In>({own, own.turned()}, [&](cuda_sides const& sides, cuda_choice const& choice) {
            with(sides, choice);
            // These kernels need an A whose elements are side by side. Another A may need copies.
            if ((choice.tile.as<cuda_narrow>() && choice.shifted) || choice.tile.as<cuda_ordered>())
                with(sides, by.choice_for<In>(sides, any_cuda_layout));
        });
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
            for (cuda_layout const& layout : cuda_layouts) {
                cuda_sides const sides = turned ? sides_of_shape(s).turned() : sides_of_shape(s);
                cuda_choice const parts = chooser().choice_of_two<W>(sides, stored_layout<S>(layout, turned));
                if (parts.widens) // nothing is copied
                    sums.device = larger(sums.device, cuda_product<Problem>::bytes_of_parts(parts, sides));
            }
        if constexpr (!std::is_same_v<typename S::a_type, W>)
            f.device += cuda_lines<W>::bytes_either(s.m, s.k, s.count);
        if constexpr (!std::is_same_v<typename S::b_type, W>)
            f.device += cuda_lines<W>::bytes_either(s.k, s.n, s.count);
        return larger(f, sums);
    }

    // A product whose operands are known, with the choice for it (cuda/prepared.hpp). Most products then need no
    // workspace, and are queued sooner without.
    template <class Problem>
    auto prepare(Problem const& p) const {
        if constexpr (!has_one_type<Problem>)
            return cuda_prepared_two<Problem>(chooser(), p);
        else if constexpr (is_dense<Problem>)
            return cuda_prepared<Problem>(chooser(), p);
        else
            return cuda_prepared_sums<Problem>(chooser(), p);
    }
    template <class Problem>
    status operator()(Problem const& p, arena& memory) const {
        return or_no_memory([&] { return prepare(p).run(memory); });
    }
    // A group shares launches (cuda/group.hpp).
    template <class Problem>
    requires has_one_type<Problem>
    auto prepare_group(group<Problem> const& all) const {
        return cuda_prepared_group<Problem>(chooser(), all);
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
            if (may_truncate(where(), chooser().letter<TA>(), sizeof(TA)))
                chooser().for_each_choice<TA>({sides_for(s), sides_of_shape(s).turned()},
                                              [&](cuda_sides const&, cuda_choice const& choice) {
                                                  on_tensor_cores |= truncates(choice.tile, sizeof(TA));
                                              });
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
        char const letter = chooser().letter<T>();
        auto found = tune_tile(
            *this, s,
            cuda_candidates(where(), letter, sizeof(T), sizeof(accumulator_t<T>), {s.m, s.n, s.k, 1}),
            options, [&](cuda_configuration const& with) {
                cuda one = *this;
                one.tile = with;
                return one;
            });
        bool const better = found && (found->before < 0 || found->after < found->before);
        if (better && found->tile.is_given())
            session().keep_tuned(tuning_bucket(letter, s.m, s.n, s.k), found->tile);
        return found;
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
    static cuda_sides sides_of_shape(S const& s) {
        return {s.m, s.n, s.k, s.count};
    }
    template <class S>
    cuda_sides sides_for(S const& s) const {
        return oriented(chooser().letter<typename S::wide_type>(), sides_of_shape(s));
    }
    // The choice for a C in row-major order.
    template <class S>
    cuda_choice choice_in_rows(S const& s) const {
        using W = typename S::wide_type;
        cuda_sides const own = sides_of_shape(s), other = own.turned();
        cuda_chooser by = chooser();
        by.after = s.after;
        auto const layout_if = [&](bool turned) {
            cuda_sides const& x = turned ? other : own;
            // A vector always lies along k.
            return cuda_layout{.a_along_k = (turned ? s.b_across : !s.a_across) || x.m == 1,
                               .b_along_k = (turned ? !s.a_across : s.b_across) || x.n == 1};
        };
        if constexpr (has_one_type<S>) {
            cuda_sides const sides = sides_for(s);
            return by.choice_for<W>(sides, layout_if(sides != own));
        } else {
            constexpr bool turned =
                std::is_same_v<typename S::a_type, W>; // for few columns A is the narrower
            constexpr std::size_t narrow =
                sizeof(std::conditional_t<turned, typename S::b_type, typename S::a_type>);
            cuda_choice const few = by.few_columns(turned ? other : own, layout_if(turned), narrow);
            return few.widens ? few : by.choice_of_two<W>(own, stored_layout<S>(layout_if(false), false));
        }
    }

    cuda_session& session() const { return cuda_session::of(device); }
    cuda_chooser chooser() const { return {session(), stream, check_pointers, tf32, invariant, tile}; }
};

template <>
struct default_policy<cuda_memory> {
    using type = cuda;
};

STRATAGEMM_END
