// Ozaki's schemes: a product in float or double, real or complex, made of exact products of int8.
//
// Rows of A and columns of B are scaled by powers of two and rounded to integers, which are taken apart: into
// digits of eight bits (scheme I; slices) or into residues modulo coprime numbers (scheme II). The policy
// beneath multiplies those, int8 by int8 into int32, without an error; sums that int32 could not hold are
// split along k. What is put together from them is C, rounded once. The only errors are what scaling cuts
// off, and that rounding: more slices or moduli, less error.
//
// How many are needed depends on the data: elements far below the largest of their row or column keep few
// bits. By default the layer measures that and chooses, so that the sums are as accurate as `accuracy` asks,
//   |dC_ij| <= eps |alpha| (|A||B|)_ij + u |C_ij|,
// and leaves the product to the base's own arithmetic where no count is enough. It does that for Inf and NaN,
// and where results might overflow, whatever was asked. With explicit counts nothing is measured, and the
// bound is normwise.
//
// Nothing here knows the machine: integer products come from the base, and everything else goes through
// apply() of its leaf; but for ozaki/host.hpp, which does all of it on the tile unit of a CPU, and
// ozaki/device.hpp, which has kernels instead of apply(), both to the same bits. A device has to have double.
// To bound the workspace, put `recursive` on top. `keep` (quantized.hpp) keeps an operand for many products.
//
// Ozaki, Ogita, Oishi, Rump: Error-free transformations of matrix multiplication by using fast routines of
// matrix multiplication, 2012. Ootomo, Ozaki, Yokota: DGEMM on integer matrix multiplication unit, 2024
// (arXiv 2306.11975). Ozaki, Uchino, Imamura: Ozaki scheme II, 2025 (arXiv 2504.08009).
#pragma once

#include "ozaki/product.hpp"

#include "../core/accuracy.hpp"

STRATAGEMM_BEGIN

// What an ozaki product did: `ran` is native, slices or moduli; `count` says how many, `products` of how many int8
// matrices, one for scaling included. `spread` is not known for explicit counts. The last product of a batch writes
// it.
using ozaki_report = report;

enum class ozaki_scaling {
    norms,  // from the norms of rows and columns
    product // from a product of their leading bits: one more, and 1 to 4 bits gained
};

struct ozaki_options {
    stratagemm::accuracy accuracy = stratagemm::accuracy::fp64;
    int slices = 0;                               // 2 to 18: scheme I with so many, whatever the data
    int moduli = 0;                               // 2 to 20: scheme II with so many
    ozaki_scaling scaling = ozaki_scaling::norms; // for `moduli`, from 7 upwards
    ozaki_report* report = nullptr;               // written by each product, if not null
};

template <policy Base>
class ozaki : public layer_over<Base> {
    using layer = layer_over<Base>;
    using layer::base_;
    using choice = ozaki_parts::choice;
    using integer_problem = dense_problem<std::int8_t, std::int8_t, std::int32_t, typename Base::space>;
    using integer_shape = shape<std::int8_t, std::int8_t, std::int32_t>;
    using leaf_type = leaf_of<Base>;
    // A product of residues that ends with the reduction of its sums, if the base has such.
    using residue_problem = dense_problem<std::int8_t, std::int8_t, std::int8_t, typename Base::space,
                                          ozaki_parts::nearest_residue>;
    static constexpr bool ends_in_residues = takes<Base, residue_problem>;
    static constexpr bool on_device = device_leaf<leaf_type, typename Base::space>;

public:
    using layer::leaf;
    using typename layer::arena, typename layer::space;

    template <class P>
    static constexpr verdict accepts = [] {
        using T = typename P::a_type;
        constexpr bool one_type =
            std::is_same_v<T, typename P::b_type> && std::is_same_v<T, typename P::c_type>;
        constexpr bool known = std::is_same_v<real_t<T>, float> || std::is_same_v<real_t<T>, double>;
        if constexpr (!on_device && !std::is_same_v<space, host_memory>)
            return verdict::leaf;
        else if constexpr (one_type && known && std::is_same_v<T, accumulator_t<T>>)
            return answer<Base, P>() & parts_if(takes<Base, integer_problem>);
        else
            return verdict::types;
    }();

    explicit ozaki(Base base, ozaki_options options = {}) // option names: see ozaki_options
        : layer(std::move(base)), options_(options) {}

    template <class S>
    footprint workspace(S const& s) const {
        return workspace_beside(s, false, false);
    }

    // By contract: componentwise, the accuracy and the rounding of C, or the base's own where that is larger,
    // since it may run instead. With explicit counts: normwise. Complex elements are wrong by both parts,
    // each within eps of the parts' |A||B|, or of twice as many terms of at most |a||b|; and where alpha is
    // 0, the leaf's product with beta rounds more than once.
    template <class S>
    [[gnu::cold]] bound error_bound(S const& s) const {
        using T = typename S::c_type;
        constexpr bool both = complex_like<T>;
        double const last = (both ? 3 : 1.01) * unit_roundoff<T>();
        bound const native = base_.error_bound(s);
        if (s.k == 0 || !valid(s)) return native;
        auto const k = static_cast<double>(s.k);
        if (by_contract()) {
            double const eps = wanted<T>() * (both ? 1.5 : 1), share = k > 9 ? 3 / __builtin_sqrt(k) : 1;
            return larger(native, {eps + (1 + eps) * last, share * eps + (1 + eps) * last, false});
        }
        bound const own = counted_bound(both ? 2 * k : k);
        double const parts = both ? 2.83 : 1, worst = parts * own.worst + (1 + own.worst) * last;
        return {worst < native.worst ? native.worst : worst, parts * own.expected + last, true,
                native.confidence};
    }

    // By contract: of as many moduli as are likely to do, or of the base's own product where that is taken for its
    // speed.
    template <class S>
    double estimate(S s) const {
        auto const count = static_cast<double>(std::exchange(s.count, 1));
        double const native = base_.estimate(s);
        if (s.k == 0 || !valid(s)) return count * native;
        if (!by_contract()) return count * seconds_of(s, explicit_plan(), false);
        choice const plan = likely_plan<typename S::c_type>();
        return count * (native_is_faster(s, plan, false) ? native : seconds_of(s, plan, false));
    }

    template <class S>
    std::string describe(S s) const {
        auto const beneath = [&] { return base_.describe(real_shape(s).integers()); };
        if (options_.slices > 0)
            return "ozaki: " + std::to_string(options_.slices) + " slices, " +
                   std::to_string(products_of_slices(options_.slices)) + " products; " + beneath();
        if (options_.moduli > 0)
            return "ozaki: " + std::to_string(options_.moduli) + " moduli, scaled by " +
                   (probes(options_.moduli) ? "a product" : "norms") + ", " +
                   std::to_string(options_.moduli + probes(options_.moduli)) + " products; " + beneath();
        s.count = 1; // one after the other
        bool const leaves = native_is_faster(s, likely_plan<typename S::c_type>(), false);
        char text[200];
        __builtin_snprintf(
            text, sizeof(text),
            leaves ? "ozaki by accuracy: natively, which is estimated to be faster here than int8 "
                     "products that leave out at most %.1e |A||B|; "
                   : "ozaki by accuracy: int8 products that leave out at most %.1e |A||B|, estimated "
                     "to be faster here, or natively if the data ask for too many; int8: ",
            wanted<typename S::c_type>());
        return text + (leaves ? "" : beneath() + "; ") + "natively: " + base_.describe(s);
    }

    // What is wrong with the options, by themselves or for this shape, or with those of the base.
    template <class S>
    [[gnu::cold]] status check(S const& s) const {
        if (status own = check_options(s); !own) return own;
        return layer::check(s);
    }
    template <class S>
    [[gnu::cold]] status check_options(S const& s) const {
        auto const fail = [](char const* text) { return failure(errc::argument, text); };
        int const slices = options_.slices, count = options_.moduli;
        if (slices != 0 && count != 0) return fail("ozaki: give `slices` or `moduli`, not both");
        if (slices != 0 && (slices < least_slices || slices > most_slices))
            return fail("ozaki: `slices` must be 2 to 18, or 0 to have the layer choose");
        if (count != 0 && (count < least_moduli || count > most_moduli))
            return fail("ozaki: `moduli` must be 2 to 20, or 0 to have the layer choose");
        double const eps = options_.accuracy.eps;
        if (by_contract() && !(eps >= accuracy::fp64.eps && eps <= 0.25))
            return fail("ozaki: `accuracy` must be 2 to 53 bits (2^-53 to 1/4): no type of C holds more");
        index_t const k = s.k * ozaki_parts::parts<typename S::c_type>;
        if (k > longest)
            return fail("ozaki: k must be at most 2^31 (2^30 for complex); add up products over parts of k");
        if (count != 0 && !(__builtin_sqrt(static_cast<double>(k)) < ozaki_parts::room(count)))
            return fail("ozaki: k is too large for so few `moduli`; take more");
        return {};
    }

    template <class P>
    [[gnu::cold]] status operator()(P const& p, arena& memory) const {
        if (status s = check(p.shape()); !s) return s;
        if (status s = check_device(); !s) return s;
        for (index_t i = 0; i < p.count; ++i)
            if (status s = multiply(p.at(i), memory); !s) return s;
        return {};
    }

private:
    // Slices are chosen where few products of them will do.
    static constexpr int least_slices = 2, most_slices = 18, most_chosen_slices = 3;
    static constexpr int least_moduli = 2, least_chosen_moduli = 7, most_moduli = ozaki_parts::most_moduli;
    static constexpr index_t longest = index_t{1} << 31;

    // Whether the leaf may have a tile unit; and then, what is done with it.
    static constexpr bool tiled = tiled_host_leaf<leaf_type>;
    auto on_host() const { return ozaki_tiles::on_host(leaf()); }

    bool by_contract() const { return options_.slices == 0 && options_.moduli == 0; }
    // Seven leading bits say nothing useful for fewer.
    bool probes(int count) const {
        return options_.scaling == ozaki_scaling::product && count >= least_chosen_moduli;
    }
    static int products_of_slices(int count) { return count * (count + 1) / 2; }

    template <class T>
    double wanted() const {
        double const u = unit_roundoff<T>();
        return options_.accuracy.eps > u ? options_.accuracy.eps : u;
    }
    // Even with the best of data.
    template <class T>
    bool slices_may_do() const {
        return wanted<T>() > ozaki_parts::power(4 - 8 * most_chosen_slices);
    }

    template <class S>
    [[gnu::cold]] bool valid(S const& s) const {
        return static_cast<bool>(check_options(s));
    }
    status check_device() const {
        if constexpr (on_device)
            if (!leaf().limits().has_double)
                return failure(
                    errc::unsupported,
                    "ozaki: this device has no double, in which the integer products are put together; "
                    "use its own products");
        return {};
    }

    // ---- shapes and workspace ----------------------------------------------------------------------------

    // The product of real matrices that it comes to.
    struct real_shape {
        index_t m, n, k;

        template <class S>
        explicit real_shape(S const& s)
            : m(s.m * ozaki_parts::parts<typename S::c_type>), n(s.n),
              k(s.k * ozaki_parts::parts<typename S::c_type>) {}
        integer_shape integers(bool alone = false) const { return {.m = m, .n = n, .k = k, .alone = alone}; }
    };

    // How much of k is multiplied at a time, where so many planes are side by side: a sum of products of two
    // int8, at most 2^14 each, is to stay below 2^31.
    static index_t chunk_of(index_t k, int products) {
        index_t const most = ((index_t{1} << 17) - 1) / products;
        return k < most ? k : most;
    }

    template <class T>
    static std::size_t bytes(index_t rows, index_t cols) {
        return arena::rounded(static_cast<std::size_t>(rows * cols) * sizeof(T));
    }
    static footprint own(std::size_t bytes) {
        footprint f;
        space::share(f) = bytes;
        return f;
    }
    // Beside what is kept of an operand, if one is.
    template <class S>
    [[gnu::cold]] footprint workspace_beside(S s, bool kept_a, bool kept_b) const {
        s.count = 1; // one after the other
        footprint const native = base_.workspace(s);
        if (s.k == 0 || !valid(s)) return native; // nothing is multiplied
        real_shape const r(s);
        footprint phase;
        if (options_.slices > 0) {
            phase = of_slices(r, options_.slices);
        } else if (options_.moduli > 0) {
            phase = of_moduli(r, options_.moduli, kept_a, kept_b);
            if (probes(options_.moduli)) phase = larger(phase, of_probe(r));
        } else {
            phase = larger(of_moduli(r, most_moduli), of_probe(r));
            for (int x = least_slices; x <= most_chosen_slices && slices_may_do<typename S::c_type>(); ++x)
                phase = larger(phase, of_slices(r, x));
        }
        phase = phase + own(bytes_of_facts<typename S::c_type>());
        return larger(native,
                      own((kept_a ? 0 : bytes_of_lines(r.m)) + (kept_b ? 0 : bytes_of_lines(r.n))) + phase);
    }
    // Facts about the operands that kernels find out, and by which the host decides.
    template <class T>
    static std::size_t bytes_of_facts() {
        if constexpr (on_device)
            return bytes<double>(ozaki_parts::on_device<leaf_type, space, T>::facts, 1);
        else
            return 0;
    }
    static std::size_t bytes_of_lines(index_t count) {
        // A device has two columns more (ozaki_parts::measured).
        return bytes<double>(count, ozaki_parts::quantities + (on_device ? 2 : 0)) +
               bytes<std::int32_t>(count, 1);
    }
    // Planes of both operands, `products` side by side, and their product; with what the base needs.
    [[gnu::cold]] footprint of_planes(real_shape const& s, int products, bool kept_a = false,
                                      bool kept_b = false) const {
        index_t const chunk = chunk_of(s.k, products), rest = s.k % chunk;
        footprint base;
        for (int x = 1; x <= products; ++x) {
            base = larger(base, base_.workspace(integer_shape{s.m, s.n, chunk * x}));
            if (rest > 0) base = larger(base, base_.workspace(integer_shape{s.m, s.n, rest * x}));
        }
        return base +
               own((kept_a ? 0 : bytes<std::int8_t>(s.m, chunk * products)) +
                   (kept_b ? 0 : bytes<std::int8_t>(chunk * products, s.n)) + bytes<std::int32_t>(s.m, s.n));
    }
    footprint of_slices(real_shape const& s, int count) const {
        return of_planes(s, count) + own(2 * bytes<double>(s.m, s.n));
    }
    [[gnu::cold]] footprint of_moduli(real_shape const& s, int count, bool kept_a = false,
                                      bool kept_b = false) const {
        if constexpr (tiled)
            if (std::size_t const fused = on_host().bytes(s.m, s.n, s.k, count, kept_a, kept_b))
                return own(fused);
        if constexpr (on_device) {
            ozaki_parts::residue_room const room(s.k);
            index_t const last = s.k % room.chunk,
                          pitch = std::max(room.rounded(s.m) * s.n, room.rounded(s.n) * s.m);
            using sums = std::conditional_t<ends_in_residues, std::int8_t, std::int32_t>;
            auto const base = [&](index_t k) {
                return base_.workspace(shape<std::int8_t, std::int8_t, sums>{s.m, s.n, k});
            };
            footprint most = base(room.chunk);
            if (last > 0) most = larger(most, base(last));
            std::size_t own_bytes = (kept_a ? 0 : bytes<std::int8_t>(count * s.m, room.pitch)) +
                                    (kept_b ? 0 : bytes<std::int8_t>(count * s.n, room.pitch)) +
                                    bytes<std::int8_t>(count, pitch);
            if (!ends_in_residues) own_bytes += bytes<std::int32_t>(s.m, s.n);
            return most + own(own_bytes);
        }
        return of_planes(s, 1, kept_a, kept_b) + own(bytes<std::int8_t>(s.m * s.n, count));
    }
    [[gnu::cold]] footprint of_probe(real_shape const& s) const {
        if constexpr (on_device) {
            ozaki_parts::residue_room const room(s.k, chunk_of(s.k, 1));
            index_t const last = s.k % room.chunk;
            footprint most = base_.workspace(integer_shape{s.m, s.n, room.chunk});
            if (last > 0) most = larger(most, base_.workspace(integer_shape{s.m, s.n, last}));
            return most +
                   own(bytes<std::int8_t>(s.m, room.pitch) + bytes<std::int8_t>(s.n, room.pitch) +
                       bytes<std::int32_t>(s.m, s.n) + (room.chunk < s.k ? bytes<double>(s.m, s.n) : 0));
        }
        std::size_t rest = bytes<double>(s.m, s.n);
        if constexpr (tiled) {
            std::size_t const fused = bytes<std::int32_t>(s.m, 1) + bytes<std::int32_t>(s.n, 1) +
                                      on_host().crossing_bytes(s.m, s.n);
            rest = rest < fused ? fused : rest;
        }
        return of_planes(s, 1) + own(rest);
    }

    // ---- how wrong it can be -----------------------------------------------------------------------------

    // The bound for explicit counts, relative to k max|A| max|B|, without the rounding of C. `worst` follows from the
    // rules for the scales. `expected` takes what is cut off an element to be random, and the largest of many sums of
    // it to be 4.5 times its root mean square.
    bound counted_bound(double k) const {
        double const root = __builtin_sqrt(k);
        bound b;
        if (options_.slices > 0) {
            // Left out are digits p and q of weight 256^-(p+q) with p + q >= s, at most 128 each, and the
            // parts of elements below the last digit. An element is up to 4.07 times as small as scaling has
            // it.
            double const s = options_.slices, last = ozaki_parts::power(-8 * options_.slices);
            b.worst = 4.07 * (s + 1.1) * last;
            b.expected = 6 * __builtin_sqrt(s + 1) / root * last;
        } else if (probes(options_.moduli)) {
            double const r = ozaki_parts::room(options_.moduli), d = (r - 64 * root) / root;
            b.worst = 4 / d + k / (r * r) * 4;
            b.expected = 4 / r;
        } else {
            double const r = ozaki_parts::room(options_.moduli), d = r - root / 2;
            b.worst = 2 * root / d + k / (d * d);
            b.expected = 4 / d;
        }
        if (b.expected > b.worst) b.expected = b.worst;
        return b;
    }

    // ---- speed -------------------------------------------------------------------------------------------

    // What a plan comes to, once; `looked`: the operands have been looked at, and that is paid for. Where
    // there are no tiles, int8 products one by one, with planes formed for each and their product taken up.
    // What takes longer than `most` need not be told exactly: the base is not asked where all else takes as long.
    template <class S>
    [[gnu::cold, gnu::noinline]] double seconds_of(S const& s, choice const& plan, bool looked,
                                                   double most = infinite<double>()) const {
        constexpr double of_an_element = 10e-9; // on one thread
        real_shape const r(s);
        int const threads = threads_for(s, leaf());
        if constexpr (tiled)
            if (plan.scheme == choice::by_moduli && on_host().takes(r.k))
                return (on_host().seconds(r.m, r.n, r.k, plan.count) +
                        (looked ? 0 : on_host().seconds_to_look(r.m, r.n, r.k))) /
                       threads;
        auto const m = static_cast<double>(r.m), n = static_cast<double>(r.n), k = static_cast<double>(r.k);
        if constexpr (on_device) {
            // Operands are measured and taken apart, C is put together from its residues; once more, for their
            // leading bits. Traffic at three quarters of the memory's rate, a launch for each step, and a wait. For
            // floats, half as much traffic again was seen on an H200, thrice as much where numbers are complex, and what
            // looks at the operands goes along k (`./dev bench automatic cuda`).
            constexpr double size = sizeof(typename S::c_type) / ozaki_parts::parts<typename S::c_type>;
            double const in = m * k + k * n, out = m * n, count = plan.count;
            bool const probed = plan.products > plan.count;
            double bytes = in * (size + count) + out * (2 * count + size);
            if (!looked) bytes += in * size + (probed ? in * (size + 1) + 3 * out * 4 : 0);
            double wait = 10e-6;
            if (!looked) wait = size == 4 ? 95e-6 + 30e-9 * k : 60e-6;
            if (size == 4) bytes *= complex_like<typename S::c_type> ? 3 : 1.5;
            double const around = bytes / (0.75 * leaf().limits().bandwidth) + 3e-6 * plan.products + wait;
            if (around > most) return around;
            return (plan.products - (looked && probed)) * base_.estimate(r.integers(s.alone)) + around;
        }
        double const around = (m * k + k * n + m * n) * of_an_element / threads;
        if (plan.products * around > most) return plan.products * around;
        return plan.products * (base_.estimate(r.integers(s.alone)) + around);
    }

    // The one place that decides on speed. Asked before the operands are looked at, and again when that is
    // done.
    template <class S>
    [[gnu::cold, gnu::noinline]] bool native_is_faster(S const& s, choice const& plan, bool looked) const {
        S const one = to_choose_by(s);
        double const native = base_.estimate(one);
        return native < seconds_of(one, plan, looked, native);
    }

    choice explicit_plan() const {
        if (options_.slices > 0)
            return {choice::by_slices, options_.slices, products_of_slices(options_.slices), 0,
                    "set by the options"};
        return {choice::by_moduli, options_.moduli, options_.moduli + probes(options_.moduli), 0,
                "set by the options"};
    }
    // What may do for the accuracy, with the best of data; on a tile unit, and for floats on a device, with random data,
    // which need two moduli more: to look at the operands and then leave the product to the base takes a large share of
    // its time on the one, and parts of floats are near on the other.
    template <class T>
    choice likely_plan() const {
        int count = least_chosen_moduli;
        while (count < most_moduli && ozaki_parts::room(count) * wanted<T>() < 0.25) ++count;
        if (tiled || (on_device && std::is_same_v<real_t<T>, float>))
            count = count + 2 < most_moduli ? count + 2 : most_moduli;
        return {choice::by_moduli, count, count + 1, 0, ""};
    }

    // ---- one product -------------------------------------------------------------------------------------

    // One product. An operand may have been kept from an earlier one.
    template <class P>
    using work_on = ozaki_parts::product<ozaki, P>;
    template <class P, class Left = typename work_on<P>::left, class Right = typename work_on<P>::right>
    [[gnu::cold]] status multiply(P const& p, arena& memory,
                                  ozaki_parts::kept_lines<Left> const* kept_a = nullptr,
                                  ozaki_parts::kept_lines<Right> const* kept_b = nullptr) const {
        choice plan;
        plan.reason = "the native product is faster";
        if (!by_contract() || !native_is_faster(p.shape(), likely_plan<typename P::a_type>(), false)) {
            typename arena::scope const scope(memory);
            work_on<P> work(*this, p, memory, kept_a, kept_b);
            plan = work.plan();
            if (plan.scheme != choice::natively || !work.good()) return work.run(plan);
        }
        tell(plan, p.shape(), false);
        return base_(p, memory);
    }
    template <class S>
    void tell(choice const& plan, S const& s, bool looked) const {
        if (options_.report) *options_.report = plan.as_report(error_bound(s), looked);
    }

    template <class, class>
    friend class ozaki_parts::integer_sums;
    template <class, class>
    friend class ozaki_parts::product;
    template <policy, class, ozaki_parts::side>
    friend class quantized;
    template <policy>
    friend class quantized_product;

    ozaki_options options_;
};

STRATAGEMM_END
