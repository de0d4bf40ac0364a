// Ozaki's schemes: a product in float or double, real or complex, made of exact products of int8.
//
// Rows of A and columns of B are scaled by powers of two and rounded to integers, which are taken apart: into
// digits of eight bits (scheme I; slices) or into residues modulo coprime numbers (scheme II). The policy beneath
// multiplies those, int8 by int8 into int32, without an error; sums that int32 could not hold are split along k.
// What is put together from them is C, rounded once. The only errors are what scaling cuts off, and that rounding:
// more slices or moduli, less error.
//
// How many are needed depends on the data: elements far below the largest of their row or column keep few bits.
// By default the layer measures that and chooses, so that the sums are as accurate as `accuracy` asks,
//   |dC_ij| <= eps |alpha| (|A||B|)_ij + u |C_ij|,
// and leaves the product to the base's own arithmetic where no count is enough. It does that for Inf and NaN, and
// where results might overflow, whatever was asked. With explicit counts nothing is measured, and the bound is
// normwise.
//
// Nothing here knows the machine: integer products come from the base, and everything else goes through apply()
// of its leaf. To bound the workspace, put `recursive` on top.
//
// Ozaki, Ogita, Oishi, Rump: Error-free transformations of matrix multiplication by using fast routines of matrix
// multiplication, 2012. Ootomo, Ozaki, Yokota: DGEMM on integer matrix multiplication unit, 2024 (arXiv
// 2306.11975). Ozaki, Uchino, Imamura: Ozaki scheme II, 2025 (arXiv 2504.08009).
#pragma once

#include "ozaki/maps.hpp"

#include "../core/policy.hpp"

STRATAGEMM_BEGIN

// How far sums may be from the exact ones, relative to |A||B|. An accuracy beyond that of C's type is that type's.
struct accuracy {
    double eps;

    static constexpr accuracy relative(double eps) { return {eps}; }
    static constexpr accuracy bits(int n) { // relative(2^-n)
        double eps = 1;
        for (; n > 0; --n) eps /= 2;
        return {eps};
    }
    static accuracy const fp32, fp64;
};
inline constexpr accuracy accuracy::fp32{0x1p-24};
inline constexpr accuracy accuracy::fp64{0x1p-53};

enum class ozaki_scaling {
    norms,  // from the norms of rows and columns
    product // from a product of their leading bits: one more, and 1 to 4 bits gained
};

// What ran, for the last product.
struct ozaki_report {
    enum scheme_type { native, slices, moduli } scheme = native;
    int count = 0;    // slices or moduli
    int products = 0; // of int8 matrices, m n k multiply-adds each; one for scaling included
    int spread = 0;   // bits by which the data need more than `accuracy`; not known for explicit counts
    char const* reason = ""; // why
};

struct ozaki_options {
    stratagemm::accuracy accuracy = stratagemm::accuracy::fp64;
    int slices = 0;                               // 2 to 18: scheme I with so many, whatever the data
    int moduli = 0;                               // 2 to 20: scheme II with so many
    ozaki_scaling scaling = ozaki_scaling::norms; // for `moduli`, from 7 upwards
    ozaki_report* report = nullptr;               // written by each product, if not null
};

template <policy Base>
class ozaki {
    using integer_problem = problem<std::int8_t, std::int8_t, std::int32_t, typename Base::space>;
    using integer_shape = shape<std::int8_t, std::int8_t, std::int32_t>;

public:
    using space = typename Base::space;
    using arena = typename Base::arena;

    // The maps read elements by address, as yet; so the operands are in host memory.
    template <class P>
    static constexpr bool accepts = [] {
        using T = typename P::a_type;
        constexpr bool one_type =
            std::is_same_v<T, typename P::b_type> && std::is_same_v<T, typename P::c_type>;
        constexpr bool known = std::is_same_v<real_t<T>, float> || std::is_same_v<real_t<T>, double>;
        if constexpr (one_type && known && std::is_same_v<T, accumulator_t<T>> &&
                      std::is_same_v<space, host_memory>)
            return Base::template accepts<P> && Base::template accepts<integer_problem>;
        else
            return false;
    }();

    explicit ozaki(Base base, ozaki_options options = {}) : base_(std::move(base)), options_(options) {}

    auto leaf() const { return base_.leaf(); }
    result<arena> reserve(footprint f) const { return base_.reserve(f); }

    template <class S>
    footprint workspace(S s) const {
        footprint const native = base_.workspace(s);
        s.count = 1;
        if (!valid(s)) return native;
        real_shape const r(s);
        auto const vectors =
            bytes<double>(r.m + r.n, ozaki_parts::quantities) + bytes<std::int32_t>(r.m + r.n, 1);
        footprint phase;
        if (options_.slices > 0) {
            phase = of_slices(r, options_.slices);
        } else if (options_.moduli > 0) {
            phase = of_moduli(r, options_.moduli);
            if (probes(options_.moduli)) phase = larger(phase, of_probe(r));
        } else {
            phase = larger(of_moduli(r, ozaki_parts::most_moduli), of_probe(r));
            for (int x = 2; x <= most_chosen_slices; ++x) phase = larger(phase, of_slices(r, x));
        }
        return larger(native, own(vectors) + phase);
    }

    // By contract: componentwise, the accuracy and the rounding of C, or the base's own where that is larger, since
    // it may run instead. With explicit counts: normwise.
    template <class S>
    bound error_bound(S const& s) const {
        using T = typename S::c_type;
        double const u = unit_roundoff<T>(), parts = ozaki_parts::parts<T>;
        bound const native = base_.error_bound(s);
        if (!valid(s)) return native;
        if (by_contract()) {
            // A complex element is wrong by both parts, each within eps of the parts' |A||B|.
            double const eps = wanted<T>() * (parts == 2 ? 1.5 : 1),
                         root = __builtin_sqrt(static_cast<double>(s.k));
            return larger(native, {eps + 1.01 * u, (root > 3 ? 3 / root : 1) * eps + 1.01 * u, false});
        }
        bound const own = counted_bound(static_cast<double>(s.k) * parts);
        double const spread = parts == 2 ? 2.83 : 1;
        return {larger(native, {spread * own.worst + 1.01 * u, 0, false}).worst,
                spread * own.expected + 1.01 * u, true};
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
        char eps[32];
        __builtin_snprintf(eps, sizeof(eps), "%.1e", wanted<typename S::c_type>());
        return std::string("ozaki: error at most ") + eps +
               " |A||B|, as many slices or moduli as the data need; " + beneath() +
               "; or natively: " + base_.describe(s);
    }

    template <class P>
    status operator()(P const& p, arena& memory) const {
        if (status s = check(p.shape()); !s) return s;
        for (index i = 0; i < p.count; ++i)
            if (status s = multiply(p.at(i), memory); !s) return s;
        return {};
    }

private:
    // Slices are chosen where few products of them will do.
    static constexpr int least_slices = 2, most_slices = 18, most_chosen_slices = 3;
    static constexpr int least_moduli = 2, least_chosen_moduli = 7, most_moduli = ozaki_parts::most_moduli;
    static constexpr index longest = index{1} << 31;

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

    // ---- what can be asked for ---------------------------------------------------------------------------

    template <class S>
    bool valid(S const& s) const {
        return static_cast<bool>(check(s));
    }
    template <class S>
    status check(S const& s) const {
        auto const fail = [](char const* message) { return failure(errc::argument, "ozaki", message); };
        int const slices = options_.slices, count = options_.moduli;
        if (slices != 0 && count != 0) return fail("give `slices` or `moduli`, not both");
        if (slices != 0 && (slices < least_slices || slices > most_slices))
            return fail("`slices` must be 2 to 18, or 0 to have the layer choose");
        if (count != 0 && (count < least_moduli || count > most_moduli))
            return fail("`moduli` must be 2 to 20, or 0 to have the layer choose");
        double const eps = options_.accuracy.eps;
        if (by_contract() && !(eps >= accuracy::fp64.eps && eps <= 0.25))
            return fail("`accuracy` must be 2 to 53 bits (2^-53 to 1/4): no type of C holds more");
        index const k = s.k * ozaki_parts::parts<typename S::c_type>;
        if (k > longest)
            return fail("k must be at most 2^31 (2^30 for complex); add up products over parts of k");
        if (count != 0 && !(__builtin_sqrt(static_cast<double>(k)) < room(count)))
            return fail("k is too large for so few `moduli`; take more");
        return {};
    }
    static double room(int count) { return ozaki_parts::residue_system(count).room(); }

    // ---- shapes and workspace ----------------------------------------------------------------------------

    // The product of real matrices that it comes to.
    struct real_shape {
        index m, n, k;

        template <class S>
        explicit real_shape(S const& s)
            : m(s.m * ozaki_parts::parts<typename S::c_type>), n(s.n),
              k(s.k * ozaki_parts::parts<typename S::c_type>) {}
        integer_shape integers() const { return {m, n, k}; }
    };

    // How much of k is multiplied at a time: |sum| < 2^31 for this many products (of two int8, 2^14 each) a term.
    static index chunk_of(index k, int products) {
        index const most = ((index{1} << 17) - 1) / products;
        return k < most ? k : most;
    }

    template <class T>
    static std::size_t bytes(index rows, index cols) {
        return arena::rounded(static_cast<std::size_t>(rows * cols) * sizeof(T));
    }
    static footprint own(std::size_t bytes) {
        footprint f;
        space::share(f) = bytes;
        return f;
    }
    // Planes of both operands, `products` side by side, and their product; with what the base needs.
    footprint of_planes(real_shape const& s, int products) const {
        index const chunk = chunk_of(s.k, products), rest = s.k % chunk;
        footprint base;
        for (int x = 1; x <= products; ++x) {
            base = larger(base, base_.workspace(integer_shape{s.m, s.n, chunk * x}));
            if (rest > 0) base = larger(base, base_.workspace(integer_shape{s.m, s.n, rest * x}));
        }
        return base + own(bytes<std::int8_t>(s.m, chunk * products) +
                          bytes<std::int8_t>(chunk * products, s.n) + bytes<std::int32_t>(s.m, s.n));
    }
    footprint of_slices(real_shape const& s, int count) const {
        return of_planes(s, count) + own(2 * bytes<double>(s.m, s.n));
    }
    footprint of_moduli(real_shape const& s, int count) const {
        return of_planes(s, 1) + own(bytes<std::int8_t>(s.m * s.n, count));
    }
    footprint of_probe(real_shape const& s) const { return of_planes(s, 1) + own(bytes<double>(s.m, s.n)); }

    // ---- how wrong it can be -----------------------------------------------------------------------------

    // Of explicit counts, relative to k max|A| max|B|, without the rounding of C. `worst` follows from the rules
    // for the scales; for `expected`, what is cut off an element is taken to be random, and the largest of many
    // sums of it to be 4.5 times its root mean square.
    bound counted_bound(double k) const {
        double const root = __builtin_sqrt(k);
        bound b;
        if (options_.slices > 0) {
            // Left out are digits p and q of weight 256^-(p+q) with p + q >= s, at most 128 each, and the parts of
            // elements below the last digit. An element is up to 4.07 times as small as scaling has it.
            double const s = options_.slices, last = ozaki_parts::power(-8 * options_.slices);
            b.worst = 4.07 * (s + 1.1) * last;
            b.expected = 6 * __builtin_sqrt(s + 1) / root * last;
        } else if (probes(options_.moduli)) {
            double const r = room(options_.moduli), d = (r - 64 * root) / root;
            b.worst = 4 / d + k / (r * r) * 4;
            b.expected = 4 / r;
        } else {
            double const r = room(options_.moduli), d = r - root / 2;
            b.worst = 2 * root / d + k / (d * d);
            b.expected = 4 / d;
        }
        if (b.expected > b.worst) b.expected = b.worst;
        return b;
    }

    // ---- speed -------------------------------------------------------------------------------------------

    // Whether the base's own product takes less time than so many of int8: the one place that decides on speed. A
    // leaf that knows its rates has seconds(shape); without it, what was asked for runs.
    template <class S>
    bool native_is_faster([[maybe_unused]] S const& s, [[maybe_unused]] int products) const {
        if constexpr (requires { leaf().seconds(s) < leaf().seconds(real_shape(s).integers()); })
            return leaf().seconds(s) < products * leaf().seconds(real_shape(s).integers());
        else
            return false;
    }

    // ---- one product -------------------------------------------------------------------------------------

    template <class P>
    status multiply(P const& p, arena& memory) const {
        ozaki_report plan;
        plan.reason = "the native product is faster";
        if (!by_contract() || !native_is_faster(p.shape(), least_chosen_moduli)) {
            typename arena::scope const scope(memory);
            product<P> work(*this, p, memory);
            plan = work.plan();
            if (plan.scheme != ozaki_report::native || !work.good()) return work.run(plan);
        }
        if (options_.report) *options_.report = plan;
        return base_(p, memory);
    }

    // The parts of one product, in the arena. The first failure ends all that follows.
    template <class P>
    class product {
        using T = typename P::c_type;
        using left = ozaki_parts::lines<T, ozaki_parts::side::left>;
        using right = ozaki_parts::lines<T, ozaki_parts::side::right>;
        template <class Lines>
        using measured = ozaki_parts::measured<Lines>;

    public:
        product(ozaki const& policy, P const& p, arena& memory)
            : policy_(policy), p_(p), memory_(memory), size_(p.shape()), a_(prepare(left{p.a})),
              b_(prepare(right{p.b})) {}

        bool good() const { return static_cast<bool>(status_); }

        // Looks at the data; writes nothing to C.
        ozaki_report plan() {
            auto const& options = policy_.options_;
            measure(ozaki_parts::peak), measure(ozaki_parts::exponent);
            if (char const* const reason = not_for_integers()) return {ozaki_report::native, 0, 0, 0, reason};
            if (policy_.by_contract()) return choose();
            if (options.slices > 0)
                return {ozaki_report::slices, options.slices, products_of_slices(options.slices), 0,
                        "as told"};
            bool const probes = policy_.probes(options.moduli);
            measure(probes ? ozaki_parts::sum : ozaki_parts::squares);
            if (probes) probe(false);
            scale_residues(options.moduli, probes);
            return {ozaki_report::moduli, options.moduli, options.moduli + probes, 0, "as told"};
        }

        status run(ozaki_report const& plan) {
            if (policy_.options_.report) *policy_.options_.report = plan;
            if (plan.scheme == ozaki_report::slices)
                multiply_slices(plan.count);
            else
                multiply_residues(plan.count);
            return std::move(status_);
        }

    private:
        // ---- measuring -----------------------------------------------------------------------------------

        template <class Lines>
        measured<Lines> prepare(Lines const& line) {
            return {line, take<double>(line.count(), ozaki_parts::quantities),
                    take<std::int32_t>(line.count(), 1)};
        }
        void measure(ozaki_parts::quantity what) {
            map(ozaki_parts::measure<left>{a_}, column(a_, what), what);
            map(ozaki_parts::measure<right>{b_}, column(b_, what), what);
        }
        template <class Lines>
        static view<double> column(measured<Lines> const& x, ozaki_parts::quantity what) {
            return x.table.block(0, what, x.table.rows, 1);
        }
        template <class Lines>
        static double largest(measured<Lines> const& x, ozaki_parts::quantity what) {
            double most = 0;
            bool first = true;
            for (index i = 0; i < x.table.rows; ++i) {
                if (x(i, ozaki_parts::peak) < 0) continue;
                if (first || x(i, what) > most) most = x(i, what);
                first = false;
            }
            return most;
        }
        template <class Lines>
        static bool any_not_finite(measured<Lines> const& x) {
            for (index i = 0; i < x.table.rows; ++i)
                if (x(i, ozaki_parts::peak) == ozaki_parts::not_finite) return true;
            return false;
        }

        // Why not, if so. Where sums might overflow, they are to do what the base's do.
        char const* not_for_integers() {
            ready();
            if (any_not_finite(a_) || any_not_finite(b_)) return "there are Inf or NaN";
            double const reach = largest(a_, ozaki_parts::exponent) + largest(b_, ozaki_parts::exponent) +
                                 ozaki_parts::exponent_of(static_cast<double>(size_.k));
            return reach >= std::numeric_limits<real_t<T>>::max_exponent ? "sums might overflow" : nullptr;
        }

        // The product of leading bits, and what follows from it for each line.
        void probe(bool in_full) {
            typename arena::scope const scope(memory_);
            auto const q = take<double>(size_.m, size_.n);
            fill(q);
            planes const t = take_planes(1);
            for (index first = 0; first < size_.k; first += t.chunk) {
                index const k = smaller(t.chunk, size_.k - first);
                form(ozaki_parts::leading_bits<left>{a_, first}, t.a(k));
                form_right(ozaki_parts::leading_bits<right>{b_, first}, t.b(k));
                multiply(t.a(k), t.b(k), t.c);
                map(ozaki_parts::add_integers{t.c}, q);
            }
            auto const derive = [&](ozaki_parts::quantity what) {
                map(ozaki_parts::cross<left, right>{a_, b_, q}, column(a_, what), what);
                map(ozaki_parts::cross<right, left>{b_, a_, transposed(q)}, column(b_, what), what);
            };
            derive(ozaki_parts::ceiling);
            if (in_full) derive(ozaki_parts::spread), derive(ozaki_parts::thinnest);
            ready();
        }

        // ---- choosing ------------------------------------------------------------------------------------

        ozaki_report choose() {
            measure(ozaki_parts::sum), measure(ozaki_parts::lowest_set);
            probe(true);
            double const eps = policy_.template wanted<T>();
            double spread = largest(a_, ozaki_parts::spread), other = largest(b_, ozaki_parts::spread);
            if (other > spread) spread = other;
            ozaki_report plan{ozaki_report::native, 0, 0, ozaki_parts::exponent_of(spread),
                              "the exponents of the data spread too far"};
            for (int x = least_chosen_moduli; x <= most_moduli && plan.count == 0; ++x)
                if (cut_off_by_moduli(x) <= eps)
                    plan = {ozaki_report::moduli, x, x + 1, plan.spread,
                            "the fewest that are accurate enough"};
            for (int x = least_slices; x <= most_chosen_slices; ++x) {
                int const products = products_of_slices(x) + 1;
                if (cut_off_by_slices(x) <= eps && (plan.count == 0 || products < plan.products))
                    plan = {ozaki_report::slices, x, products, plan.spread,
                            "the fewest that are accurate enough"};
            }
            if (plan.count > 0 && policy_.native_is_faster(p_.shape(), plan.products))
                plan = {ozaki_report::native, 0, 0, plan.spread, "the native product is faster"};
            if (plan.scheme == ozaki_report::moduli) scale_residues(plan.count, true);
            return plan;
        }

        // The most that scaling for these moduli takes off, relative to |A||B|. With A' = A 2^s + a, |a| <= 1/2, and
        // likewise b: A'B' 2^-(s + t) is wrong by |a||B| 2^-s + |A||b| 2^-t + |a||b| 2^-(s + t).
        double cut_off_by_moduli(int count) const {
            int least = 0; // leading bits that a line of B keeps
            double const by_b = cut_off(b_, count, least);
            int kept = least;
            double const by_a = cut_off(a_, count, kept);
            return by_a * (1 + static_cast<double>(size_.k) * ozaki_parts::power(-least)) + by_b;
        }
        template <class Lines>
        static double cut_off(measured<Lines> const& x, int count, int& least) {
            double worst = 0;
            ozaki_parts::scale_by_product<Lines> const shift{x, room(count)};
            least = 1000;
            for (index i = 0; i < x.table.rows; ++i) {
                if (x(i, ozaki_parts::peak) < 0) continue;
                int const s = shift(0, i, 0), kept = s + x.power_of(i);
                if (kept < least) least = kept;
                if (s + x(i, ozaki_parts::lowest_set) >= 0) continue; // all bits fit
                double const here = ozaki_parts::power(-kept - 1) * x(i, ozaki_parts::spread);
                if (here > worst) worst = here;
            }
            return worst;
        }
        double cut_off_by_slices(int count) const {
            return 4 * (count + 1.1) * ozaki_parts::power(-8 * count) * static_cast<double>(size_.k) *
                   largest(a_, ozaki_parts::thinnest);
        }

        void scale_residues(int count, bool by_product) {
            double const r = room(count);
            if (by_product) {
                map(ozaki_parts::scale_by_product<left>{a_, r}, a_.shift);
                map(ozaki_parts::scale_by_product<right>{b_, r}, b_.shift);
            } else {
                map(ozaki_parts::scale_by_norms<left>{a_, r}, a_.shift);
                map(ozaki_parts::scale_by_norms<right>{b_, r}, b_.shift);
            }
        }

        // ---- the schemes ---------------------------------------------------------------------------------

        // Slices p of A from left to right, slices q of B from bottom to top: the sum over p + q = d is one product
        // of the first d + 1 of A with the last d + 1 of B. Small terms come first.
        void multiply_slices(int count) {
            map(ozaki_parts::scale_of_slices<left>{a_, count}, a_.shift);
            map(ozaki_parts::scale_of_slices<right>{b_, count}, b_.shift);
            auto const high = take<double>(size_.m, size_.n), low = take<double>(size_.m, size_.n);
            fill(high), fill(low);
            planes const t = take_planes(count);
            for (index first = 0; first < size_.k; first += t.chunk) {
                index const k = smaller(t.chunk, size_.k - first);
                auto const a = t.a(k * count), b = t.b(k * count);
                for (int x = 0; x < count; ++x) {
                    form(ozaki_parts::digits<left>{a_, first, count - 1 - x}, a.block(0, x * k, size_.m, k));
                    form_right(ozaki_parts::digits<right>{b_, first, x}, b.block(x * k, 0, k, size_.n));
                }
                for (int d = count - 1; d >= 0; --d) {
                    index const depth = (d + 1) * k;
                    multiply(a.block(0, 0, size_.m, depth), b.block(count * k - depth, 0, depth, size_.n),
                             t.c);
                    double const weight = ozaki_parts::power(8 * (count - 1 - d));
                    map(ozaki_parts::add_lost{t.c, high, weight}, low);
                    map(ozaki_parts::add_high{t.c, weight}, high);
                }
            }
            finish(ozaki_parts::from_digits{high, low}, 8 * (count - 1));
        }

        void multiply_residues(int count) {
            ozaki_parts::residue_system const system(count);
            index const step = size_.m * size_.n;
            auto const sums = take<std::int8_t>(size_.m, size_.n, count);
            planes const t = take_planes(1);
            for (int x = 0; x < count; ++x) {
                ozaki_parts::modulus const mod(ozaki_parts::moduli[x]);
                auto sum = sums;
                sum.data = sums.data + x * step;
                fill(sum);
                for (index first = 0; first < size_.k; first += t.chunk) {
                    index const k = smaller(t.chunk, size_.k - first);
                    form(ozaki_parts::residues<left>{a_, first, mod}, t.a(k));
                    form_right(ozaki_parts::residues<right>{b_, first, mod}, t.b(k));
                    multiply(t.a(k), t.b(k), t.c);
                    map(ozaki_parts::add_residues{t.c, mod, system.weight(x)}, sum);
                }
            }
            finish(ozaki_parts::from_residues{system, sums, step}, 0);
        }

        // ---- what they are made of -----------------------------------------------------------------------

        using bytes_view = view<std::int8_t>;
        struct planes {
            bytes_view a_all, b_all;
            view<std::int32_t> c;
            index chunk;
            // For this many terms, one row after another.
            bytes_view a(index k) const { return {a_all.data, a_all.rows, k, k, 1}; }
            bytes_view b(index k) const { return {b_all.data, k, b_all.cols, b_all.cols, 1}; }
        };
        planes take_planes(int products) {
            index const chunk = chunk_of(size_.k, products);
            return {take<std::int8_t>(size_.m, chunk * products),
                    take<std::int8_t>(chunk * products, size_.n), take<std::int32_t>(size_.m, size_.n),
                    chunk};
        }
        template <class Element>
        view<Element> take(index rows, index cols, index count = 1) {
            return {memory_.template take<Element>(rows * cols * count), rows, cols, cols, 1};
        }

        template <class Map, class Element>
        void map(Map const& f, view<Element> const& to, index col0 = 0) {
            if (status_) status_ = policy_.leaf().apply(f, to, 0, col0);
        }
        template <class Plane>
        void form(Plane const& x, bytes_view const& to) {
            map(ozaki_parts::plane<Plane, ozaki_parts::side::left>{x}, to);
        }
        template <class Plane>
        void form_right(Plane const& x, bytes_view const& to) {
            map(ozaki_parts::plane<Plane, ozaki_parts::side::right>{x}, to);
        }
        template <class Element>
        void fill(view<Element> const& to) {
            if (status_) status_ = policy_.leaf().fill(to, Element(0));
        }
        void multiply(bytes_view const& a, bytes_view const& b, view<std::int32_t> const& c) {
            if (status_) status_ = policy_.base_(integer_problem{1, a, b, 0, c, c}, memory_);
        }
        template <class Sum>
        void finish(Sum const& sum, int exponent) {
            map(ozaki_parts::finish<P, Sum>{p_, sum, a_.shift, b_.shift, exponent}, p_.c);
        }
        void ready() {
            if (status_) status_ = policy_.leaf().synchronize();
        }
        static index smaller(index x, index y) { return x < y ? x : y; }

        ozaki const& policy_;
        P const& p_;
        arena& memory_;
        real_shape size_;
        status status_;
        measured<left> a_;
        measured<right> b_;
    };

    Base base_;
    ozaki_options options_;
};

STRATAGEMM_END
