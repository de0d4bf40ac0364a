// One product of the Ozaki layer, at work: measuring the data, choosing, and both schemes.
#pragma once

#include "device.hpp"
#include "host.hpp"

#include "../../core/layer.hpp"

#include <initializer_list>

STRATAGEMM_BEGIN

namespace ozaki_parts {

// How a product is done. `looked`: by what the data are.
struct choice {
    enum scheme_type { natively, by_slices, by_moduli } scheme = natively;
    int count = 0;    // slices or moduli
    int products = 0; // of int8 matrices, m n k multiply-adds each; one for scaling included
    int spread = 0;   // bits by which the data need more than `accuracy`; not known for explicit counts
    char const* reason = "";

    report as_report(bound const& allowed, bool looked) const {
        constexpr std::string_view names[] = {"native", "slices", "moduli"};
        report r;
        r.ran = names[scheme], r.reason = reason, r.count = count, r.products = products, r.spread = spread;
        r.phases = 1 + looked, r.bound = allowed;
        return r;
    }
};

// How much of k is split at a time on a device, and how far apart lines of residues are.
struct residue_room {
    index_t chunk, pitch;

    explicit residue_room(index_t k, index_t most = 1 << 14)
        : chunk(k < most ? k : most), pitch(rounded(chunk)) {}
    static constexpr index_t rounded(index_t x) {
        return (x + 15) / 16 * 16;
    } // as hardware fetches and stores
    // Residues of all of k are kept part by part; this many bytes hold those of one line modulo one modulus. Parts
    // but the last have as many bytes as terms, so that the part from `first` on begins after first bytes for each
    // line.
    index_t whole(index_t k) const { return (k + chunk - 1) / chunk * pitch; }
};

// All of a product but its last step, in the arena: the sums of A and B that C is made of. Epilogues have no part in
// it, so that products that differ in nothing else share its code. The first failure ends all that follows. What orders
// the steps is cold: the steps take its time, and code for size takes less time to compile.
template <class Policy, class T>
class integer_sums {
protected:
    using arena = typename Policy::arena;
    using real_shape = typename Policy::real_shape;
    using space = typename Policy::space;
    using shape_type = shape<T, T, T>;
    template <class Element>
    using view_of = view<Element, space>;
    template <class Element>
    using handle = typename space::template handle<Element>;

public:
    using left = lines<T, side::left, space>;
    using right = right_lines<T, space>;
    template <side Side>
    using lines_on = std::conditional_t<Side == side::left, left, right>;

    // Operands that are kept need not be measured, scaled or taken apart.
    integer_sums(Policy const& policy, left const& a, right const& b, shape_type const& size, arena& memory,
                 kept_lines<left> const* kept_a = nullptr, kept_lines<right> const* kept_b = nullptr)
        : policy_(policy), memory_(memory), kept_a_(kept_a), kept_b_(kept_b), shape_(size), size_(size),
          device_(on_device_at(policy, memory)), a_(kept_a ? kept_a->of : prepare(a)),
          b_(kept_b ? kept_b->of : prepare(b)) {}

    bool good() const { return static_cast<bool>(status_); }

    // Looks at the data; writes nothing to C.
    [[gnu::cold]] choice plan() {
        auto const& options = policy_.options_;
        bool const by_contract = policy_.by_contract(),
                   probes = by_contract || policy_.probes(options.moduli);
        if constexpr (Policy::on_device)
            if (options.moduli > 0 || (by_contract && !policy_.template slices_may_do<T>()))
                return plan_on_device(probes);
        typename arena::scope const scope(memory_);
        planes leading{};
        if (probes && !Policy::on_device) leading = take_planes(1);
        surveyed_ = survey(leading, options.moduli > 0 && !probes);
        if (!surveyed_) find(peak), find(exponent);
        if (char const* const reason = not_for_integers()) return {choice::natively, 0, 0, 0, reason};
        if (by_contract) return choose(leading);
        if (options.slices > 0) return policy_.explicit_plan();
        if (!surveyed_) find(probes ? sum : squares);
        if (probes) probe(leading, {ceiling});
        return scale_residues(policy_.explicit_plan(), probes);
    }

    // The same for moduli on a device: kernels look at the lines, scale them, and try all numbers of moduli. The host
    // waits once, for what they found.
    choice plan_on_device(bool probes) {
        using steps = device_steps;
        int const count = policy_.options_.moduli;
        typename steps::findings found{};
        double const r = probes ? 0 : room(count);
        if (!kept_a_ && size_.m > 0) then([&] { return device_.measure(a_, r); });
        if (!kept_b_ && size_.n > 0) then([&] { return device_.measure(b_, r); });
        if (probes) probe_on_device();
        then([&] { return device_.look(a_, b_, probes, found); });
        auto const& [of_a, of_b, with] = found;
        if (char const* const reason =
                reason_against(of_a.not_finite != 0 || of_b.not_finite != 0, of_a.exponent + of_b.exponent))
            return {choice::natively, 0, 0, 0, reason};
        choice plan = policy_.explicit_plan();
        if (count == 0) {
            double const widest = of_a.widest < of_b.widest ? of_b.widest : of_a.widest,
                         eps = policy_.template wanted<T>();
            plan = {choice::natively, 0, 0, widest > 0 ? exponent_of(widest) : 0,
                    "the exponents of the data spread too far"};
            for (int x = 0; x < steps::counts && plan.count == 0; ++x) {
                auto const &a = with[x][0], &b = with[x][1];
                if (lost_by_both(a.lost, b.lost, static_cast<int>(b.kept)) <= eps)
                    plan = {choice::by_moduli, steps::least_count + x, steps::least_count + x + 1,
                            plan.spread, "the fewest that are accurate enough"};
            }
            if (plan.count > 0 && policy_.native_is_faster(shape_, plan, true))
                plan = {choice::natively, 0, 0, plan.spread, "the native product is faster"};
            if (plan.count == 0) return plan;
        }
        auto const in_reach = [](auto const& of) { // or there is no line
            return of.least_shift > of.largest_shift || (of.least_shift >= -1000 && of.largest_shift <= 1000);
        };
        auto const* const scaled = probes ? with[plan.count - steps::least_count] : nullptr;
        if (!(scaled ? in_reach(scaled[0]) && in_reach(scaled[1]) : in_reach(of_a) && in_reach(of_b)))
            return {choice::natively, 0, 0, plan.spread, out_of_reach};
        if (probes) {
            then([&] { return device_.scale(a_, room(plan.count)); });
            then([&] { return device_.scale(b_, room(plan.count)); });
        }
        return plan;
    }

    // After a plan by residues scaled by norms, for which the other operand may have no lines: one to keep,
    // and how many bytes its residues take.
    template <side Side>
    measured<lines_on<Side>> lines_of() const {
        if constexpr (Side == side::left)
            return to_keep(a_);
        else
            return to_keep(b_);
    }
    template <class Lines>
    static std::size_t kept_bytes(Policy const& policy, Lines const& x, int count) {
        if (std::size_t const packed = packed_bytes(policy, x, count)) return packed;
        index_t length = x.length();
        if constexpr (Policy::on_device) length = residue_room(length).whole(length);
        return static_cast<std::size_t>(x.count() * length) * static_cast<std::size_t>(count);
    }
    template <side Side>
    [[gnu::cold]] status keep(measured<lines_on<Side>> const& x, int count, handle<std::byte> const& to) {
        if (!status_) return std::move(status_);
        residue_system const system(count);
        if constexpr (Policy::tiled)
            if (packed_bytes(policy_, x.line, count) > 0) {
                policy_.on_host().template pack<Side == side::left>(x.line, x.shift, bits_of(x), system, to);
                return std::move(status_);
            }
        if constexpr (Policy::on_device) {
            residue_room const room(size_.k);
            for (index_t first = 0; first < size_.k; first += room.chunk)
                then([&] {
                    return device_.split(x, system, first, smaller(room.chunk, size_.k - first), room.pitch,
                                         to + first * count * x.line.count());
                });
        } else {
            for (int r = 0; r < count; ++r) {
                auto const plane = plane_at<Side>(x, to, r);
                residues<lines_on<Side>> const all{x, 0, modulus(moduli[r])};
                map(all, Side == side::left ? plane : transposed(plane));
            }
        }
        ready();
        return std::move(status_);
    }

protected:
    // Planes of int8 and their product; of so many terms at a time, one row after another.
    using bytes_view = view_of<std::int8_t>;
    struct planes {
        bytes_view a_all, b_all;
        view_of<std::int32_t> c;
        index_t chunk;
        bytes_view a(index_t k) const { return {a_all.data, a_all.rows, k, k, 1}; }
        bytes_view b(index_t k) const { return {b_all.data, k, b_all.cols, b_all.cols, 1}; }
    };

    // ---- measuring -----------------------------------------------------------------------------------

    template <class Lines>
    measured<Lines> prepare(Lines const& line) {
        if constexpr (Policy::on_device) {
            measured<Lines> x{line, {}, {}};
            x.there = {memory_.template take<double>(line.count() * x.columns),
                       memory_.template take<std::int32_t>(line.count())};
            then([&] { return device_.prepare(x); });
            return x;
        } else {
            return {line, take<double>(line.count(), quantities), take<std::int32_t>(line.count(), 1)};
        }
    }
    [[gnu::cold]] void find([[maybe_unused]] quantity what) {
        if constexpr (!Policy::on_device) { // there a survey finds all
            if (!kept_a_) map(measure<left>{a_}, column(a_, what), what);
            if (!kept_b_) map(measure<right>{b_}, column(b_, what), what);
        }
    }
    template <class Lines>
    static view<double> column(measured<Lines> const& x, quantity what) {
        return x.table.block(0, what, x.table.rows, 1);
    }
    template <class Lines>
    static double largest(measured<Lines> const& x, quantity what) {
        double most = 0;
        bool first = true;
        for (index_t i = 0; i < x.table.rows; ++i) {
            if (x(i, peak) < 0) continue;
            if (first || x(i, what) > most) most = x(i, what);
            first = false;
        }
        return most;
    }
    template <class Lines>
    static bool any_not_finite(measured<Lines> const& x) {
        for (index_t i = 0; i < x.table.rows; ++i)
            if (x(i, peak) == not_finite) return true;
        return false;
    }

    // Why not, if so. Where sums might overflow, they are to do what the base's do.
    [[gnu::cold]] char const* not_for_integers() {
        ready();
        return reason_against(any_not_finite(a_) || any_not_finite(b_),
                              largest(a_, exponent) + largest(b_, exponent));
    }
    char const* reason_against(bool odd, double exponents) const {
        if (odd) return "there are Inf or NaN";
        if (size_.m == 0 || size_.n == 0) return nullptr; // there are no sums
        double const reach = exponents + exponent_of(static_cast<double>(size_.k));
        return reach >= exponent_of(largest_number<real_t<T>>()) ? "sums might overflow" : nullptr;
    }
    static constexpr char const* out_of_reach = "a line is too near the ends of double's range";

    // All that a line has by itself at once: on a device, or with the host's vectors, which also leave the
    // leading bits of its elements.
    [[gnu::cold]] bool survey([[maybe_unused]] planes const& leading, [[maybe_unused]] bool norms) {
        if constexpr (Policy::on_device) {
            then([&] { return device_.measure(a_, 0); });
            then([&] { return device_.measure(b_, 0); });
            fetch_lines();
            return true;
        } else if constexpr (Policy::tiled)
            return (kept_a_ || policy_.on_host().survey(a_, leading_of(a_.line, leading.a_all), norms)) &&
                   (kept_b_ || policy_.on_host().survey(b_, leading_of(b_.line, leading.b_all), norms));
        else
            return false;
    }
    // By lines, in the order in which the elements lie; none if they do not fit a plane.
    template <class Lines>
    view<std::int8_t> leading_of(Lines const& x, view<std::int8_t> const& all) const {
        index_t const count = x.count(), length = x.length();
        if (all.rows * all.cols < count * length) return {};
        if constexpr (requires { x.by_lines(); })
            if (x.by_lines().col_stride != 1) return {all.data, count, length, 1, count};
        return {all.data, count, length, length, 1};
    }

    void fetch_lines() {
        then([&] { return device_.fetch(a_); });
        then([&] { return device_.fetch(b_); });
    }
    void probe_on_device() {
        typename arena::scope const scope(memory_);
        residue_room const room(size_.k, Policy::chunk_of(size_.k, 1));
        auto const a = memory_.template take<std::byte>(size_.m * room.pitch),
                   b = memory_.template take<std::byte>(size_.n * room.pitch);
        auto const q = take<std::int32_t>(size_.m, size_.n);
        view_of<double> total{};
        if (room.chunk < size_.k) total = take<double>(size_.m, size_.n), fill(total);
        for (index_t first = 0; first < size_.k; first += room.chunk) {
            index_t const k = smaller(room.chunk, size_.k - first);
            then([&] { return device_.lead(a_, first, k, room.pitch, a); });
            then([&] { return device_.lead(b_, first, k, room.pitch, b); });
            multiply({space::template cast<std::int8_t>(a), size_.m, k, room.pitch, 1},
                     {space::template cast<std::int8_t>(b), k, size_.n, 1, room.pitch}, q);
            if (room.chunk < size_.k) map(add_integers<space>{q}, total);
        }
        auto const cross_with = [&](auto const& of_q) {
            then([&] { return device_.cross(a_, b_, of_q); });
            then([&] { return device_.cross(b_, a_, transposed(of_q)); });
        };
        room.chunk < size_.k ? cross_with(total) : cross_with(q);
    }

    // The product of leading bits, and what follows from it for each line.
    void probe([[maybe_unused]] planes const& t, [[maybe_unused]] std::initializer_list<quantity> wanted) {
        if constexpr (Policy::on_device) {
            probe_on_device();
            fetch_lines();
        } else {
            probe_on_host(t, wanted);
        }
    }
    [[gnu::cold]] void probe_on_host(planes const& t, std::initializer_list<quantity> wanted) {
        if constexpr (Policy::tiled)
            if (surveyed_ && t.chunk == size_.k && *(wanted.end() - 1) <= spread) {
                multiply(leading_of(a_.line, t.a_all), transposed(leading_of(b_.line, t.b_all)), t.c);
                crossing<left, right> const x{a_, b_, take<std::int32_t>(size_.m, 1),
                                              take<std::int32_t>(size_.n, 1)};
                fill(x.left_looked), fill(x.right_looked);
                if (status_) policy_.on_host().cross(x, t.c, memory_);
                return;
            }
        typename arena::scope const scope(memory_);
        auto const q = take<double>(size_.m, size_.n);
        fill(q);
        for (index_t first = 0; first < size_.k; first += t.chunk) {
            index_t const k = smaller(t.chunk, size_.k - first);
            map(leading_bits<left>{a_, first}, t.a(k));
            map(leading_bits<right>{b_, first}, transposed(t.b(k)));
            multiply(t.a(k), t.b(k), t.c);
            map(add_integers<space>{t.c}, q);
        }
        for (quantity const what : wanted) {
            map(cross<left, right>{a_, b_, q}, column(a_, what), what);
            map(cross<right, left>{b_, a_, transposed(q)}, column(b_, what), what);
        }
        ready();
    }

    // ---- choosing ------------------------------------------------------------------------------------

    [[gnu::cold]] choice choose(planes const& leading) {
        if (!surveyed_) find(sum), find(lowest_set);
        double const eps = policy_.template wanted<T>();
        bool const slices_may_do = policy_.template slices_may_do<T>();
        if (slices_may_do)
            probe(leading, {ceiling, spread, thinnest});
        else
            probe(leading, {ceiling, spread});
        double widest = largest(a_, spread), other = largest(b_, spread);
        if (other > widest) widest = other;
        choice plan{choice::natively, 0, 0, widest > 0 ? exponent_of(widest) : 0,
                    "the exponents of the data spread too far"};
        for (int x = Policy::least_chosen_moduli; x <= most_moduli && plan.count == 0; ++x)
            if (cut_off_by_moduli(x) <= eps)
                plan = {choice::by_moduli, x, x + 1, plan.spread, "the fewest that are accurate enough"};
        for (int x = Policy::least_slices; x <= Policy::most_chosen_slices && slices_may_do; ++x) {
            int const products = Policy::products_of_slices(x) + 1;
            if (cut_off_by_slices(x) <= eps && (plan.count == 0 || products < plan.products))
                plan = {choice::by_slices, x, products, plan.spread, "the fewest that are accurate enough"};
        }
        if (plan.count > 0 && policy_.native_is_faster(shape_, plan, true))
            plan = {choice::natively, 0, 0, plan.spread, "the native product is faster"};
        return plan.scheme == choice::by_moduli ? scale_residues(plan, true) : plan;
    }

    // The most that scaling for these moduli takes off, relative to |A||B|. With A' = A 2^s + a, |a| <= 1/2,
    // and likewise b: A'B' 2^-(s + t) is wrong by |a||B| 2^-s + |A||b| 2^-t + |a||b| 2^-(s + t).
    double cut_off_by_moduli(int count) const {
        int least = 0; // leading bits that a line of B keeps
        double const by_b = cut_off(b_, count, least);
        int kept = least;
        return lost_by_both(cut_off(a_, count, kept), by_b, least);
    }
    double lost_by_both(double by_a, double by_b, int kept_of_b) const {
        return by_a * (1 + static_cast<double>(size_.k) * power(-kept_of_b)) + by_b;
    }
    template <class Lines>
    [[gnu::noinline]] static double cut_off(measured<Lines> const& x, int count, int& least) {
        double worst = 0;
        scale_by_product<Lines> const shift{x, room(count)};
        least = 1000;
        for (index_t i = 0; i < x.table.rows; ++i) {
            if (x(i, peak) < 0) continue;
            int const s = shift(0, i, 0), kept = s + x.power_of(i);
            if (kept < least) least = kept;
            if (s + x(i, lowest_set) >= 0) continue; // all bits fit
            double const here = power(-kept - 1) * x(i, spread);
            if (here > worst) worst = here;
        }
        return worst;
    }
    double cut_off_by_slices(int count) const {
        return 4 * (count + 1.1) * power(-8 * count) * static_cast<double>(size_.k) * largest(a_, thinnest);
    }

    // The plan, unless a scale is beyond what one factor can do.
    [[gnu::cold]] choice scale_residues(choice const& plan, bool by_product) {
        double const r = room(plan.count);
        if (by_product) {
            scale(scale_by_product<left>{a_, r}, a_);
            scale(scale_by_product<right>{b_, r}, b_);
        } else {
            if (!kept_a_) scale(scale_by_norms<left>{a_, r}, a_);
            if (!kept_b_) scale(scale_by_norms<right>{b_, r}, b_);
        }
        ready();
        if (in_reach(a_) && in_reach(b_)) return plan;
        return {choice::natively, 0, 0, plan.spread, out_of_reach};
    }
    template <class Lines>
    static bool in_reach(measured<Lines> const& x) {
        for (index_t i = 0; i < x.table.rows; ++i)
            if (x(i, peak) >= 0 && (x.shift(i, 0) < -1000 || x.shift(i, 0) > 1000)) return false;
        return true;
    }

    // ---- the schemes ---------------------------------------------------------------------------------

    // Slices p of A from left to right, slices q of B from bottom to top: the sum over p + q = d is one
    // product of the first d + 1 of A with the last d + 1 of B. Small terms come first.
    [[gnu::cold]] from_digits<space> sum_slices(int count) {
        scale(scale_of_slices<left>{a_, count}, a_);
        scale(scale_of_slices<right>{b_, count}, b_);
        auto const high = take<double>(size_.m, size_.n), low = take<double>(size_.m, size_.n);
        fill(high), fill(low);
        planes const t = take_planes(count);
        for (index_t first = 0; first < size_.k; first += t.chunk) {
            index_t const k = smaller(t.chunk, size_.k - first);
            auto const a = t.a(k * count), b = t.b(k * count);
            for (int x = 0; x < count; ++x) {
                map(digits<left>{a_, first, count - 1 - x}, a.block(0, x * k, size_.m, k));
                map(digits<right>{b_, first, x}, transposed(b.block(x * k, 0, k, size_.n)));
            }
            for (int d = count - 1; d >= 0; --d) {
                index_t const depth = (d + 1) * k;
                multiply(a.block(0, 0, size_.m, depth), b.block(count * k - depth, 0, depth, size_.n), t.c);
                double const weight = power(8 * (count - 1 - d));
                map(add_lost<space>{t.c, high, weight}, low);
                map(add_high<space>{t.c, weight}, high);
            }
        }
        return {high, low};
    }

    [[gnu::cold]] from_residues<space> sum_residues(residue_system const& system) {
        int const count = system.count();
        index_t const step = size_.m * size_.n;
        auto const sums = take<std::int8_t>(size_.m, size_.n, count);
        planes const t = take_planes(1);
        for (int x = 0; x < count; ++x) {
            modulus const mod(moduli[x]);
            auto sum = sums;
            sum.data = sums.data + x * step;
            fill(sum);
            for (index_t first = 0; first < size_.k; first += t.chunk) {
                index_t const k = smaller(t.chunk, size_.k - first);
                if (!kept_a_) map(residues<left>{a_, first, mod}, t.a(k));
                if (!kept_b_) map(residues<right>{b_, first, mod}, transposed(t.b(k)));
                auto a = t.a(k), b = t.b(k);
                if (kept_a_) a = plane_at<side::left>(a_, kept_a_->residues, x).block(0, first, size_.m, k);
                if (kept_b_) b = plane_at<side::right>(b_, kept_b_->residues, x).block(first, 0, k, size_.n);
                multiply(a, b, t.c);
                map(add_residues<space>{t.c, mod, system.weight(x)}, sum);
            }
        }
        return {system, sums, step};
    }

    // Below 2^bits are all scaled elements.
    template <class Lines>
    static int bits_of(measured<Lines> const& x) {
        int most = 0;
        for (index_t i = 0; i < x.table.rows; ++i) {
            if (x(i, peak) < 0) continue;
            int const bits = x.shift(i, 0) + x.power_of(i);
            if (bits > most) most = bits;
        }
        return most;
    }
    static int larger(int x, int y) { return x < y ? y : x; }

    // None if an operand is not kept as packed tiles.
    template <class Lines>
    static std::size_t packed_bytes([[maybe_unused]] Policy const& policy, [[maybe_unused]] Lines const& x,
                                    [[maybe_unused]] int count) {
        if constexpr (Policy::tiled)
            return policy.on_host().packed_bytes(x.count(), x.length(), count);
        else
            return 0;
    }
    // What outlives this: not the copies in host memory of what a device measured.
    template <class Lines>
    static measured<Lines> to_keep(measured<Lines> x) {
        if constexpr (Policy::on_device) x.table = {}, x.shift = {};
        return x;
    }
    template <side Side>
    static bytes_view plane_at(measured<lines_on<Side>> const& x, std::byte* residues, int r) {
        index_t const count = x.line.count(), length = x.line.length();
        auto* const data = reinterpret_cast<std::int8_t*>(residues) + r * count * length;
        if constexpr (Side == side::left)
            return {data, count, length, length, 1};
        else
            return {data, length, count, count, 1};
    }

    // ---- what they are made of -----------------------------------------------------------------------

    planes take_planes(int products) {
        index_t const chunk = Policy::chunk_of(size_.k, products);
        return {kept_a_ ? bytes_view{} : take<std::int8_t>(size_.m, chunk * products),
                kept_b_ ? bytes_view{} : take<std::int8_t>(chunk * products, size_.n),
                take<std::int32_t>(size_.m, size_.n), chunk};
    }
    template <class Element>
    view_of<Element> take(index_t rows, index_t cols, index_t count = 1) {
        return {memory_.template take<Element>(rows * cols * count), rows, cols, cols, 1};
    }

    template <class F>
    void then(F const& f) {
        if (status_) status_ = f();
    }
    template <class Map, class Element>
    void map(Map const& f, view_of<Element> const& to, [[maybe_unused]] index_t col0 = 0) {
        if constexpr (Policy::on_device)
            then([&] { return device_.run(f, to); });
        else
            then([&] { return policy_.leaf().apply(f, to, 0, col0); });
    }
    template <class Scale, class Lines>
    void scale(Scale const& by, measured<Lines> const& x) {
        if constexpr (Policy::on_device)
            then([&] { return device_.scale(by, x); });
        else
            for (index_t i = 0; i < x.shift.rows; ++i) x.shift(i, 0) = by(0, i, 0);
    }
    template <class Element>
    void fill(view_of<Element> const& to) {
        then([&] { return policy_.leaf().fill(to, Element(0)); });
    }
    void multiply(bytes_view const& a, bytes_view const& b, view_of<std::int32_t> const& c) {
        then([&] { return policy_.base_(typename Policy::integer_problem{1, a, b, 0, c, c}, memory_); });
    }
    void ready() {
        then([&] { return policy_.leaf().synchronize(); });
    }
    static index_t smaller(index_t x, index_t y) { return x < y ? x : y; }

    struct nothing {};
    using device_steps =
        std::conditional_t<Policy::on_device, on_device<typename Policy::leaf_type, space, T>, nothing>;
    static device_steps on_device_at([[maybe_unused]] Policy const& policy, [[maybe_unused]] arena& memory) {
        if constexpr (Policy::on_device)
            return device_steps(policy.leaf(), memory.template take<double>(device_steps::facts));
        else
            return {};
    }

    Policy const& policy_;
    arena& memory_;
    kept_lines<left> const* kept_a_;
    kept_lines<right> const* kept_b_;
    shape_type shape_;
    real_shape size_;
    status status_;
    bool surveyed_ = false; // all quantities of lines were found at once
    [[no_unique_address]] device_steps device_;
    measured<left> a_;
    measured<right> b_;
};

// One product, with its epilogue.
template <class Policy, class P>
class product : public integer_sums<Policy, typename P::c_type> {
    using sums = integer_sums<Policy, typename P::c_type>;
    using sums::a_, sums::b_, sums::kept_a_, sums::kept_b_, sums::memory_, sums::policy_, sums::status_;
    using typename sums::arena, typename sums::bytes_view, typename sums::space;
    template <class Element>
    using handle = typename space::template handle<Element>;

public:
    using typename sums::left, typename sums::right;

    product(Policy const& policy, P const& p, arena& memory, kept_lines<left> const* kept_a = nullptr,
            kept_lines<right> const* kept_b = nullptr)
        : sums(policy, left{p.a}, right_lines_of(p.b), p.shape(), memory, kept_a, kept_b), p_(p) {}

    [[gnu::cold]] status run(choice const& plan) {
        if (!status_) return std::move(status_);
        policy_.tell(plan, p_.shape(), true);
        if (plan.scheme == choice::by_slices) {
            store(this->sum_slices(plan.count), 8 * (plan.count - 1));
        } else {
            residue_system const system(plan.count);
            if constexpr (Policy::on_device)
                device_residues(system);
            else if (!fused_residues(system))
                store(this->sum_residues(system), 0);
        }
        return std::move(status_);
    }

private:
    // On the tile unit, without planes.
    [[gnu::cold]] bool fused_residues([[maybe_unused]] residue_system const& system) {
        if constexpr (Policy::tiled) {
            residue_job<P> const job{p_,
                                     a_.line,
                                     b_.line,
                                     a_.shift,
                                     b_.shift,
                                     this->larger(this->bits_of(a_), this->bits_of(b_)),
                                     system,
                                     kept_a_ ? kept_a_->residues : nullptr,
                                     kept_b_ ? kept_b_->residues : nullptr};
            return status_ && policy_.on_host().multiply(job, memory_);
        } else {
            return false;
        }
    }
    // On a device: the residues of a part of k at once, a product for each modulus, and C.
    void device_residues(residue_system const& system) {
        int const count = system.count();
        auto const& size = this->size_;
        // Kernels write rows of C.
        bool const turned = !complex_like<typename P::c_type> && rows_are_closer(p_.c);
        residue_room const room(size.k);
        index_t const rows = turned ? size.n : size.m,
                      pitch = residue_room::rounded(turned ? size.m : size.n), step = rows * pitch;
        auto const take = [&](index_t bytes) { return memory_.template take<std::byte>(bytes); };
        auto const own_a = kept_a_ ? handle<std::byte>{} : take(count * size.m * room.pitch),
                   own_b = kept_b_ ? handle<std::byte>{} : take(count * size.n * room.pitch),
                   of_c = take(count * step);
        auto const bytes = [](auto const& at) { return space::template cast<std::int8_t>(at); };
        view<std::int32_t, space> wide{};
        if constexpr (!Policy::ends_in_residues) wide = this->template take<std::int32_t>(size.m, size.n);
        for (index_t first = 0; first < size.k; first += room.chunk) {
            index_t const k = this->smaller(room.chunk, size.k - first);
            auto const a = kept_a_ ? kept_a_->residues + first * count * size.m : own_a,
                       b = kept_b_ ? kept_b_->residues + first * count * size.n : own_b;
            if (!kept_a_)
                this->then([&] { return this->device_.split(a_, system, first, k, room.pitch, a); });
            if (!kept_b_)
                this->then([&] { return this->device_.split(b_, system, first, k, room.pitch, b); });
            for (int r = 0; r < count; ++r) {
                nearest_residue const modulus(system.modulus_of(r));
                bytes_view const of_a{bytes(a + r * size.m * room.pitch), size.m, k, room.pitch, 1},
                    of_b{bytes(b + r * size.n * room.pitch), k, size.n, 1, room.pitch},
                    to{bytes(of_c + r * step), size.m, size.n, turned ? 1 : pitch, turned ? pitch : 1};
                if constexpr (Policy::ends_in_residues) {
                    typename Policy::residue_problem q{1, of_a, of_b, first > 0, to, to, modulus};
                    this->then([&] { return policy_.base_(q, memory_); });
                } else {
                    this->multiply(of_a, of_b, wide);
                    this->then([&] { return this->device_.reduce(wide, modulus, first > 0, to); });
                }
            }
        }
        this->then([&] { return this->device_.combine(p_, system, of_c, step, pitch, turned, a_, b_); });
    }
    template <class Sum>
    void store(Sum const& integers, int scale) {
        if constexpr (Policy::on_device)
            this->then([&] { return this->device_.finish(p_, integers, a_, b_, scale); });
        else
            this->map(finish<P, Sum>{p_, integers, a_.shift, b_.shift, scale}, p_.c);
    }

    P const& p_;
};

} // namespace ozaki_parts

STRATAGEMM_END
