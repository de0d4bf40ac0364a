// The CPU: kernels for what the machine has, chosen at run time, on as many threads as OpenMP gives.
//
// Nothing has to be set: a program compiled with no -march flag runs AVX-512 where there is AVX-512. An element of C
// depends on its row of A, its column of B and the instruction set, never on the number of threads. With .invariant it
// never depends on what is computed beside it either.
#pragma once

#include "../core/group.hpp"
#include "../core/leaf.hpp"
#include "host/combined.hpp"
#include "host/costs.hpp"
#include "host/rates.hpp"
#include "host/small.hpp"
#include "host/tiles.hpp"
#include "host/widened.hpp"

STRATAGEMM_BEGIN

// The leaf of a CPU, which may have a tile unit.
struct host_tile_operations : host_operations {
    template <class Text = std::string>
    static Text machine() {
        return host_tile_rate::processor<Text>();
    }
#if defined(__x86_64__)
    static bool has_tiles() { return current_isa().isa == host_isa::amx && current_isa().available; }
    template <class Text = std::string> // as host_tile_rate::get(), and for the same reason
    static double tile_rate() {
        return host_tile_rate::get<Text>();
    }
#endif
};

struct host {
    int threads = 0; // 0: all that OpenMP offers; one if the program is compiled without it
    // Dot products sum in the order of all other products; by default they do so in several chains, which is faster.
    bool invariant = false;

    using space = host_memory;
    using arena = host_arena;
    static constexpr bool is_backend = true;

    // A and B may have two types if one type holds all numbers of the other; their product is that of the wider type. C
    // has the accumulator of the wider type, or the wider type itself if that has 16 bits.
    template <class P>
    static constexpr verdict accepts = [] {
        using W = typename P::wide_type;
        return types_if(have_wider<typename P::a_type, typename P::b_type> && element<W> &&
                        !std::is_same_v<W, std::int32_t> && !is_fp8<W> &&
                        (std::is_same_v<typename P::c_type, accumulator_t<W>> ||
                         (std::is_same_v<typename P::c_type, W> && sizeof(W) == 2)));
    }();

    // Sums of real matrices of one type, with or without several results.
    template <class P>
    static constexpr verdict accepts_operands = [] {
        using T = typename P::a_type;
        constexpr bool real = std::is_same_v<T, float> || std::is_same_v<T, double>;
        constexpr bool one_type =
            std::is_same_v<T, typename P::b_type> && std::is_same_v<T, typename P::c_type>;
        if constexpr (!is_combination<typename P::a_operand> || !is_combination<typename P::b_operand> ||
                      !is_combination<typename P::c_operand>)
            return verdict::structure;
        else
            return types_if(real && one_type) &
                   epilogue_if(is_view<typename P::c_operand>::value ||
                               std::is_same_v<typename P::epilogue_type, identity>);
    }();

    host_tile_operations leaf() const { return {{threads}}; }
    result<arena> reserve(footprint f) const {
        if (status s = usable(); !s) return result<arena>(std::move(s));
        return reserve_host(f, "host");
    }
    // Errors in the options, for any shape. Products that take no workspace have try_small() and again().
    template <class S>
    status check(S const&) const {
        return usable();
    }

    template <class S>
    footprint workspace(S const& s) const {
        return workspace_for(s, team_for(s));
    }

    // A sum of k products is cut into pieces; these are added one by one. Each term of an operand beyond the first is
    // one more rounding, relative to the sum of their magnitudes.
    template <class S>
    bound error_bound(S const& s) const {
        index_t const depth = packing_of<multiplied_as<S>>::type::depth(s.k), piece = chain_of(s);
        constexpr index_t joined = complex_like<typename S::a_type> ? 1 : 0;
        index_t const chain =
            s.m == 1 || s.n == 1 ? depth + 16 : smaller(depth, piece) + divide_up(depth, piece) + joined;
        return chain_bound<S>(chain + further_terms<typename S::a_form> + further_terms<typename S::b_form>);
    }

    // The time from the steps of the product (host/costs.hpp); for tiles, from their rate (host/rates.hpp).
    template <class S>
    double estimate(S const& s) const {
        int const most = threads_for(s, leaf());
        host_isa const isa = current_isa().isa;
        if (uses_tiles(s)) {
            constexpr bool is_int8 = std::is_same_v<typename S::a_type, std::int8_t>;
            double const rate = (is_int8 ? host_rates::int8 : host_rates::bfloat16) * host_tile_rate::get();
            return roofline(s, rate, 10e9, 0.2e-6) / most;
        }
        return counts_of(s, host_counts::column_of(isa), most).seconds(isa);
    }

    template <class S>
    std::string describe(S const& s) const {
        int const team = s.alone ? 1 : team_for(s);
        return std::string("host: ") + name_of(current_isa().isa) + ", " + types_of<S>() +
               (invariant ? ", invariant, " : ", ") + std::to_string(team) +
               (team == 1 ? " thread" : " threads");
    }

    template <class Problem>
    status operator()(Problem const& p, arena& workspace) const {
        if (status s = usable(); !s) return s;
        if constexpr (is_dense<Problem>)
            if (try_small(p)) return {};
        auto const shape = p.shape();
        int team = team_for(shape);
        // The arena was sized by workspace(); OpenMP may offer more threads by now.
        while (team > 1 && !workspace.fits(workspace_for(shape, team))) --team;
        if constexpr (is_dense<Problem>)
            multiply_all(p, team, workspace);
        else
            for (index_t i = 0; i < p.count; ++i) multiply_combined(p.at(i), team, workspace);
        return {};
    }

    // C = alpha A B + beta C, if the kernel of this product is known from a call before. False for any other product,
    // valid or not.
    template <class S, class A, class B, class C, class... Batch>
    [[gnu::always_inline]] bool again(S alpha, A const& a, B const& b, S beta, C const& c,
                                      Batch const&... batch) const {
        using T = typename C::value_type;
        constexpr bool real = std::is_same_v<T, float> || std::is_same_v<T, double>;
        if constexpr (is_batch<C>::value) {
            bool const agree = (!is_batch<A>::value || count_of(a) == c.count) &&
                               (!is_batch<B>::value || count_of(b) == c.count) && c.count > 1;
            return agree && again(alpha, first_of(a), first_of(b), beta, c.first,
                                  batch_steps{c.count, step_of(a), step_of(b), c.stride});
        } else if constexpr (real && std::is_convertible_v<A, view<T const>> &&
                             std::is_convertible_v<B, view<T const>> && std::is_same_v<C, view<T>>) {
            return threads >= 0 && multiply_again<T>(invariant, alpha, a, b, beta, c, batch...);
        } else {
            return false;
        }
    }

    // Multiplies a product, or a batch of products, that is smaller than a block and whose C a kernel can write to;
    // false for any other. The function does nothing else, since anything else would cost as much as the product. It is
    // compiled for size, as multiply_region() is.
    template <class Problem>
    [[gnu::cold, gnu::noinline]] bool try_small(Problem const& p) const {
        using T = typename Problem::a_type;
        constexpr bool plain = is_dense<Problem> && std::is_same_v<typename Problem::epilogue_type, identity>;
        constexpr bool real = std::is_same_v<T, float> || std::is_same_v<T, double>;
        constexpr bool one_type =
            std::is_same_v<T, typename Problem::b_type> && std::is_same_v<T, typename Problem::c_type>;
        if constexpr (plain && real && one_type) {
            constexpr index_t longest = 1 << 19;
            if (threads < 0) return false; // for check() to say
            small_product<T> small(p);
            auto& [g, b_col, e_col, c_col, turned] = small;
            if ((g.m | g.n | g.k) >= longest || c_col != 1 || (g.beta != T(0) && e_col != 1)) return false;
            host_facts f =
                host_facts_of(real_packing<T, T>::kernels(), g.m, g.n, g.k, g.a_row, g.a_col, g.b_row, b_col);
            f.invariant = invariant, f.count = g.count, f.turned = turned, f.threads = threads;
            f.is_as_summed = g.beta == T(0) && g.alpha == T(1);
            small_run<T> run{g, b_col, threads};
            bool const done = dispatch_small(f, run);
            if (run.own && (!host_has_teams || g.count == 1 || team_of_batch(g, 2) == 1))
                repeat(p, run.own, run.is_turned != turned, invariant);
            return done;
        } else {
            return false;
        }
    }

    template <class Problem>
    auto prepare_group(group<Problem> const& all) const {
        return prepared_group<Problem>(*this, all);
    }

private:
    [[gnu::cold, gnu::noinline]] static status negative_threads() {
        return failure(errc::argument,
                       "host: threads must not be negative; 0 takes as many as OpenMP offers");
    }
    status usable() const { return threads < 0 ? negative_threads() : isa_status(); }

    static constexpr double smallest_shared =
        0x1p20; // multiply-adds of a product of a group that more than one thread shares
    template <class S>
    int team_for(S const& s) const {
        return leaf().team(multiply_adds(s));
    }

    // Products of a group that are below smallest_shared run on one thread each, if there are enough of them for all
    // threads.
    template <class Problem>
    class prepared_group {
    public:
        prepared_group(host const& h, group<Problem> const& all)
            : host_(h), all_(all), largest_(host_threads(h.threads) == 1 ? -1 : smallest_shared) {
            double work = 0;
            index_t count = 0;
            for (Problem const& p : all) {
                if (is_empty(p) || !is_small(p)) continue;
                work += multiply_adds(p.shape()), ++count;
                bytes_each_ = larger(bytes_each_, arena::rounded(h.bytes_for(p.shape(), 1)));
            }
            team_ = h.leaf().team(work);
            if (count < team_) largest_ = -1, team_ = 1, bytes_each_ = 0;
        }
        footprint workspace() const {
            footprint most{bytes_each_ * static_cast<std::size_t>(team_)};
            for (Problem const& p : all_)
                if (!is_empty(p) && !is_small(p)) most = larger(most, host_.workspace(p.shape()));
            return most;
        }
        status run(arena& workspace) const {
            if (status s = host_.usable(); !s) return s;
            for (Problem const& p : all_)
                if (!is_small(p))
                    if (status s = run_checked(host_, p, workspace); !s) return s;
            arena::scope const scope(workspace);
            auto const bytes = static_cast<index_t>(bytes_each_);
            std::byte* const own = workspace.take<std::byte>(bytes * team_);
            index_t next = 0;
            host_each(team_, team_, [&](int thread, int) {
                for (index_t i; (i = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < all_.count;) {
                    if (!is_small(all_.first[i])) continue;
                    arena part(own + thread * bytes, bytes_each_, nullptr);
                    (void)run_checked(host{.threads = 1, .invariant = host_.invariant}, all_.first[i], part);
                }
            });
            return {};
        }

    private:
        bool is_small(Problem const& p) const { return multiply_adds(p.shape()) < largest_; }

        host const& host_;
        group<Problem> all_;
        double largest_; // multiply-adds from which a product has a team of its own; -1: every product has
        int team_ = 1;   // threads that share the small products
        std::size_t bytes_each_ = 0;
    };

    // Tiles are worth their set-up for all but small products. For int8, whose vectors are faster than those of
    // bfloat16, tiles are worth their set-up for deep products only. The choice depends on the shape alone, since it
    // shows in the last bits of a bfloat16 product. With .invariant it is made from k.
    template <class S>
    bool uses_tiles([[maybe_unused]] S const& s) const {
#if defined(__x86_64__)
        using T = multiplied_as<S>;
        if constexpr (tile_element<T>) {
            constexpr bool is_float = std::is_same_v<T, bfloat16>;
            double const work = host_part::times(s.m, s.n, s.k);
            bool const pays = smaller(s.m, s.n) >= (is_float ? 4 : 9) && work >= (is_float ? 3e4 : 3e5);
            return current_isa().isa == host_isa::amx && s.k >= (is_float ? 24 : 64) &&
                   (pays || (invariant && is_float));
        }
#endif
        return false;
    }

    template <class S>
    footprint workspace_for(S const& s, int team) const {
        std::size_t const together = bytes_for(s, team);
        if (s.count > 1 && team > 1)
            return {larger(bytes_for(s, 1) * static_cast<std::size_t>(team), together)};
        return {together};
    }

    // How many products are summed before the sum is added to C.
    template <class S>
    index_t chain_of(S const& s) const {
        using T = multiplied_as<S>;
        if constexpr (tile_element<T>)
            if (uses_tiles(s)) return s.k;
        if constexpr (std::is_same_v<T, bfloat16>)
            if (multiplies_blocks_of_packets<T>()) return 2 * block_sizes<bfloat16_pair>::k;
        return block_sizes<typename packing_of<T>::type::packet>::k;
    }

    // Workspace of one product by `team` threads. Either operand may become A: the product is transposed if
    // that makes the rows of C contiguous.
    template <class S>
    std::size_t bytes_for(S const& s, int team) const {
        if constexpr (!has_one_type<S>)
            return larger(widened_bytes(s.m, s.n, s.k, team), widened_bytes(s.n, s.m, s.k, team));
        else
            return bytes_of<typename S::a_type>(s.m, s.n, s.k, team, uses_tiles(s));
    }
    template <class T>
    [[gnu::noinline]] static std::size_t bytes_of(index_t m, index_t n, index_t k, int team, bool tiles) {
        using packing = typename packing_of<T>::type;
        auto const bytes = [&](index_t rows, index_t cols) {
#if defined(__x86_64__)
            if constexpr (tile_element<T>)
                if (tiles) return multiply_tiles_bytes<T>(rows, cols, k, team);
#endif
            return multiply_bytes<packing>(rows, cols, k, team);
        };
        (void)tiles;
        std::size_t const as_it_is = bytes(m, n);
        return m == n ? as_it_is : larger(as_it_is, bytes(n, m));
    }

    // Whether the kernels apply alpha and beta. Kernels do not know the imaginary parts of factors: if there are any,
    // kernels sum A B, and write() does the rest.
    template <class Problem>
    static bool has_real_factors([[maybe_unused]] Problem const& p) {
        if constexpr (complex_like<typename Problem::scalar>)
            return p.alpha.imag() == 0 && p.beta.imag() == 0;
        else
            return true;
    }
    template <class Problem>
    static auto element_of_e(Problem const& p, index_t r, index_t c) {
        auto const e = static_cast<typename Problem::scalar>(p.e(r, c));
        return p.e.conjugate ? conjugate(e) : e;
    }

    // Where C does not have contiguous rows, is of another type, or goes through an epilogue, the kernels work on a
    // buffer. begin() fills it with beta E; write() stores it.
    template <class Problem, class Acc>
    static void begin(void const* problem, bool swapped, Acc* sum, index_t sum_row, index_t i0, index_t j0,
                      index_t rows, index_t cols) {
        using S = typename Problem::scalar;
        auto const& p = *static_cast<Problem const*>(problem);
        for (index_t i = 0; i < rows; ++i)
            for (index_t j = 0; j < cols; ++j) {
                S const e = element_of_e(p, swapped ? j0 + j : i0 + i, swapped ? i0 + i : j0 + j);
                if constexpr (complex_like<S>) {
                    sum[i * sum_row + 2 * j] = p.beta.real() * e.real();
                    sum[i * sum_row + 2 * j + 1] = p.beta.real() * e.imag();
                } else {
                    sum[i * sum_row + j] = scaled_by(p.beta, e);
                }
            }
    }
    template <class Problem, class Acc>
    static void write(void const* problem, bool swapped, Acc const* sum, index_t sum_row, index_t i0,
                      index_t j0, index_t rows, index_t cols) {
        using S = typename Problem::scalar;
        auto const& p = *static_cast<Problem const*>(problem);
        bool const finished = has_real_factors(p), reads_e = p.beta != S(0);
        using TA = typename Problem::a_type;
        constexpr bool from_packets = std::is_same_v<TA, bfloat16> || std::is_same_v<TA, std::int8_t>;
        if constexpr (std::is_same_v<typename Problem::epilogue_type, identity> &&
                      std::is_same_v<typename Problem::c_type, Acc> &&
                      (from_packets || (std::is_same_v<TA, Acc> && std::is_floating_point_v<Acc>))) {
            // Elements are moved in the type that the kernels of this product move: packets are as large as their sums.
            using moved = std::conditional_t<from_packets, packet_of<TA>, Acc>;
            if (swapped && p.c.col_stride == 1)
                return gather(kernels<moved, moved>(),
                              reinterpret_cast<moved*>(p.c.data + j0 * p.c.row_stride + i0), p.c.row_stride,
                              reinterpret_cast<moved const*>(sum), 1, sum_row, cols, rows);
        }
        for (index_t i = 0; i < rows; ++i)
            for (index_t j = 0; j < cols; ++j) {
                S x{};
                if constexpr (complex_like<S>)
                    x = S(sum[i * sum_row + 2 * j], sum[i * sum_row + 2 * j + 1]);
                else
                    x = sum[i * sum_row + j];
                index_t const r = swapped ? j0 + j : i0 + i, c = swapped ? i0 + i : j0 + j;
                if (!finished) {
                    x = scaled_by(p.alpha, x);
                    if (reads_e) x = scaled_sum(p.beta, element_of_e(p, r, c), x);
                }
                p.c(r, c) = static_cast<typename Problem::c_type>(
                    apply_epilogue(p.epilogue, x, p.row0 + r, p.col0 + c));
            }
    }

    // Whether C is so narrow or so flat that its transpose is faster: few rows times a matrix that is read in place.
    template <class Packing, class Problem>
    bool is_turned(Problem const& p) const {
        if constexpr (Packing::in_place && Packing::widen == 1) {
            host_facts f = host_facts_of(Packing::kernels(), p.c.rows, p.c.cols, Packing::depth(p.a.cols),
                                         p.a.row_stride, p.a.col_stride, p.b.row_stride, p.b.col_stride);
            f.invariant = invariant;
            return f.is_turned(p.c.col_stride == 1);
        } else {
            return false;
        }
    }

    template <class Packing, class Problem>
    auto job_of(Problem const& p, bool turned = false) const {
        using TA = typename Problem::a_type;
        using S = typename Problem::scalar;
        using job_type = host_job<TA, Packing>;
        using acc = typename job_type::acc;
        job_type job;
        // Rows of C are to be contiguous; a column is turned into a row.
        job.swapped = p.c.cols == 1 || (p.c.col_stride != 1 && p.c.row_stride == 1 && p.c.rows > 1) || turned;
        auto const c = job.swapped ? transposed(p.c) : p.c;
        auto const e = job.swapped ? transposed(p.e) : p.e;
        job.a = job.swapped ? transposed(p.b) : p.a;
        job.b = job.swapped ? transposed(p.a) : p.b;
        bool plain = std::is_same_v<typename Problem::epilogue_type, identity> &&
                     (c.col_stride == 1 || c.cols == 1) &&
                     (p.beta == S(0) || ((e.col_stride == 1 || e.cols == 1) && !e.conjugate));
        bool const finishes = has_real_factors(p);
        plain = plain && finishes;
        if (finishes) {
            if constexpr (complex_like<S>)
                job.alpha = p.alpha.real(), job.beta = p.beta.real();
            else
                job.alpha = p.alpha, job.beta = p.beta;
        }
        if constexpr (std::is_same_v<typename Problem::c_type, S>) {
            job.c = reinterpret_cast<acc*>(c.data), job.c_row = c.row_stride * Packing::widen;
            job.e = reinterpret_cast<acc const*>(e.data), job.e_row = e.row_stride * Packing::widen;
        } else {
            plain = false;
        }
        if (!plain) {
            job.write = write<Problem, acc>, job.problem = &p;
            if (finishes && p.beta != S(0)) job.begin = begin<Problem, acc>;
        }
        return job;
    }

    template <class Packing, class Problem>
    void multiply_as(Problem const& p, int team, arena& workspace) const {
        auto job = job_of<Packing>(p, is_turned<Packing>(p));
        job.invariant = invariant;
        host_way const way = way_of(job);
        if constexpr (std::is_same_v<Packing, packet_packing<bfloat16>>)
            if (way == host_way::blocks && !multiplies_blocks_of_packets<bfloat16>())
                return multiply_as<typename packing_of<bfloat16>::type>(p, team, workspace);
        multiply(job, team, workspace, way);
    }

    // Compiled once, not where it is called; for size, as multiply_region().
    template <class Problem>
    [[gnu::cold, gnu::noinline]] void multiply_one(Problem const& p, int team, arena& workspace) const {
        using TA = typename Problem::a_type;
        constexpr bool has_packets = std::is_same_v<TA, bfloat16> || std::is_same_v<TA, std::int8_t>;
        if constexpr (!has_one_type<Problem>) {
            multiply_two(p, team, workspace);
        } else {
#if defined(__x86_64__)
            if constexpr (tile_element<TA>)
                if (uses_tiles(p.shape())) {
                    bool const turned = are_tiles_turned(p.c.rows, p.c.cols, p.a.cols, p.a.col_stride == 1,
                                                         p.b.row_stride == 1 && p.b.col_stride != 1);
                    return multiply_tiles(job_of<typename packing_of<TA>::type>(p, turned), team, workspace);
                }
#endif
            if constexpr (has_packets)
                if (multiplies_packets<TA>()) return multiply_as<packet_packing<TA>>(p, team, workspace);
            multiply_as<typename packing_of<TA>::type>(p, team, workspace);
        }
    }

    // The product of two element types. The job is one of floats, except for the functions that pack the operands
    // (host/widened.hpp).
    template <class Problem>
    void multiply_two(Problem const& p, int team, arena& workspace) const {
        using a_packing = widened_packing<typename Problem::a_type>;
        using b_packing = widened_packing<typename Problem::b_type>;
        arena::scope const scope(workspace);
        dense_problem<float, float, typename Problem::c_type> plain;
        plain.alpha = p.alpha, plain.beta = p.beta, plain.e = p.e, plain.c = p.c;
        plain.row0 = p.row0, plain.col0 = p.col0;
        auto q = plain.with_epilogue(p.epilogue);
        if (is_widened_before(p.c.rows, p.c.cols, p.a.cols)) {
            q.a = a_packing::copy(p.a, workspace), q.b = b_packing::copy(p.b, workspace);
            if (!try_small(q)) multiply_one(q, team, workspace);
            return;
        }
        q.a = a_packing::outline_of(p.a), q.b = b_packing::outline_of(p.b);
        auto job = job_of<real_packing<float, float>>(q, is_turned<real_packing<float, float>>(q));
        job.invariant = invariant;
        auto const a_turned = transposed(p.a);
        auto const b_turned = transposed(p.b);
        if (job.swapped) {
            job.a_sum = b_packing::of(b_turned), job.b_sum = a_packing::of(a_turned);
            return multiply_widened(job, a_packing::of_b(p.a), team, workspace);
        }
        job.a_sum = a_packing::of(p.a), job.b_sum = b_packing::of(p.b);
        multiply_widened(job, b_packing::of_b(b_turned), team, workspace);
    }

    // The product, or those of a batch: one thread for each, if there are as many products as threads.
    template <class Problem>
    [[gnu::noinline]] void multiply_all(Problem const& p, int team, arena& workspace) const {
        bool const apart = host_has_teams && team > 1 && p.count >= team;
        int const workers = apart ? team : 1, each = apart ? 1 : team;
        arena::scope const scope(workspace);
        std::size_t const bytes = apart ? bytes_for(p.shape(), 1) : 0; // of each, if not all there are
        std::byte* const own = workspace.take<std::byte>(static_cast<index_t>(bytes) * workers);
        host_each(workers, workers, [&](int thread, int x) {
            for (index_t i = p.count * x / workers; i < p.count * (x + 1) / workers; ++i) {
                arena part(own + thread * static_cast<index_t>(bytes), bytes, nullptr);
                multiply_one(p.at(i), each, apart ? part : workspace);
            }
        });
    }

    // The product of the first terms, except for the functions that pack operands that are sums, and that write a
    // spread (host/combined.hpp). The factor of a sum of one term goes into alpha, and so does that of an only target.
    template <class Problem>
    static void multiply_combined(Problem p, int team, arena& workspace) {
        using T = typename Problem::a_type;
        dense_problem<T, T, T, space, typename Problem::epilogue_type> q;
        q.a = first_term(p.a, p.alpha), q.b = first_term(p.b, p.alpha);
        q.alpha = p.alpha, q.beta = p.beta, q.e = p.e, q.epilogue = p.epilogue;
        q.row0 = p.row0, q.col0 = p.col0;
        constexpr bool spreads = !is_view<typename Problem::c_operand>::value;
        if constexpr (spreads) {
            auto const& first = p.c.at[0];
            q.c = first.to;
            if (p.c.targets == 1) q.alpha *= first.factor, q.beta = first.keep, q.e = first.from;
        } else {
            q.c = p.c;
        }
        auto job = host{}.job_of<real_packing<T, T>>(q);
        if constexpr (spreads)
            if (p.c.targets > 1)
                job.write = write_spread<Problem, true>, job.add = write_spread<Problem, false>,
                job.begin = nullptr, job.alpha = T(1), job.problem = &p;
        if (job.swapped) p.a = p.a.transposed(), p.b = p.b.transposed();
        job.a_sum = sum_packing<T>::of(p.a), job.b_sum = sum_packing<T>::of(p.b);
        if (job.swapped) std::swap(job.a_sum, job.b_sum);
        multiply(job, team, workspace);
    }
};

template <>
struct default_policy<host_memory> {
    using type = host;
};

STRATAGEMM_END

#include "host/instances.hpp" // declares instances of the templates above
