// A product from columns of A and rows of B that are drawn at random: C = alpha X + beta E, where X is the mean of
// A_l B_l / p_l over c draws of l, each with the probability p_l. X is A B on average (Drineas, Kannan, Mahoney: Fast
// Monte Carlo algorithms for matrices I, 2006).
//
//   sg::gemm(sg::monte_carlo{cpu, {.tolerance = 0.1}}, a, b, c);
//
// approximate.hpp has the contract. The number of draws follows from the norms of all columns and rows, the tolerance
// and the confidence; docs/accuracy.md derives it. For columns and rows of like norms it is about 16 / tolerance^2 at
// 99%, so that k has to be some times longer; where few columns and rows have most of |A||B|, few are drawn, again and
// again, and a line that was drawn again is multiplied once. The lines that were drawn are gathered, each with a norm
// of one, and the base multiplies them. `count` of the report is the number of draws.
#pragma once

#include "approximate.hpp"
#include "monte_carlo/draws.hpp"
#include "monte_carlo/gather.hpp"

STRATAGEMM_BEGIN

struct monte_carlo_options {
    double tolerance = 0;     // of |C - A B| / |A||B|; it has to be given
    double confidence = 0.99; // the probability that a result keeps it
    std::uint64_t seed = 0;
    stratagemm::otherwise otherwise = stratagemm::otherwise::refuse;
    bool certify = false;
    stratagemm::report* report = nullptr;
    draw_probabilities probabilities = draw_probabilities::optimal;
};

template <policy Base>
class monte_carlo : public approximate<monte_carlo<Base>, Base> {
    using layer = approximate<monte_carlo<Base>, Base>;
    using layer::base_;
    using typename layer::line_norms, typename layer::prediction;
    static constexpr bool on_host = host_leaf<leaf_of<Base>>;

public:
    using layer::leaf;
    using typename layer::arena, typename layer::space;
    static constexpr char const *name = "monte_carlo", *unit = "draws";

    template <class P>
    static constexpr verdict answer_of = verdict::yes; // its products are of the same types

    explicit monte_carlo(Base base, monte_carlo_options options = {}) // option names: see monte_carlo_options
        : layer(std::move(base)), options_(options) {}

    monte_carlo_options const& options() const { return options_; }

    template <class S>
    footprint room(S s) const {
        index_t const k = std::exchange(s.k, most_lines(s));
        footprint all = base_.workspace(s);
        space::share(all) +=
            arena::rounded(static_cast<std::size_t>(s.m * s.k) * sizeof(typename S::a_type)) +
            arena::rounded(static_cast<std::size_t>(s.k * s.n) * sizeof(typename S::b_type));
        if constexpr (on_host)
            all.host += bytes_of_lists(k, s.k);
        else
            space::share(all) += bytes_of_factors(s.k);
        return all;
    }
    // Draws for norms that are alike: a deviation of 1 for all of |A||B|.
    template <class S>
    double seconds(S const& s) const {
        double const fails = 1 - options_.confidence, root = 1 + __builtin_sqrt(-2 * __builtin_log(fails)),
                     draws = root * root / (options_.tolerance * options_.tolerance);
        auto const k = static_cast<double>(s.k);
        return seconds_for(s, static_cast<index_t>(draws < k ? draws : k), draws);
    }

    template <class P>
    prediction predict(P const& p, line_norms const& norms) const {
        auto const s = p.shape();
        approximate_parts::draw_chances const chances(norms, options_.probabilities);
        index_t const lines = most_lines(s);
        double const deviation = chances.deviation(options_.confidence);
        double const draws_at_first = square(deviation / options_.tolerance);
        // Rounding errors are of the norms that are multiplied, which the draws change a little.
        double const rounding =
            2 * rounding_of(s, larger_of(1, lines), chances.all_weights(),
                            chances.largest_weight() + chances.longest() / draws_at_first);
        prediction said;
        said.most = static_cast<double>(lines);
        said.least = lines > 0 ? deviation / __builtin_sqrt(said.most) + rounding : 0;
        said.count = rounding < options_.tolerance
                         ? __builtin_ceil(square(deviation / (options_.tolerance - rounding)))
                         : __builtin_inf();
        // Draws that take as long as the exact product are too many, however few the lines are.
        if (!(seconds_to_draw(said.count) < this->seconds_to_spend(s))) return said;
        double const distinct = chances.distinct(said.count);
        said.pays = distinct <= said.most && seconds_for(to_choose_by(s), static_cast<index_t>(distinct),
                                                         said.count) < this->seconds_to_spend(s);
        said.typical = chances.deviation() / __builtin_sqrt(said.count);
        said.error = deviation / __builtin_sqrt(said.count) + rounding;
        return said;
    }

    template <class P>
    status multiply(P const& p, line_norms const& norms, prediction& said, arena& memory) const {
        typename arena::scope const scope(memory);
        if constexpr (on_host) {
            return draw(p, norms, said, memory, memory);
        } else {
            footprint room;
            room.host = bytes_of_lists(norms.k, most_lines(p.shape()));
            auto host = reserve_host(room, name);
            if (!host) return host.take_status();
            return draw(p, norms, said, memory, *host);
        }
    }

private:
    static double square(double x) { return x * x; }
    static std::size_t bytes_of_doubles(index_t count) {
        return arena::rounded(static_cast<std::size_t>(count) * sizeof(double));
    }
    // How often each of k lines was drawn, and what bytes_of_factors() is for.
    static std::size_t bytes_of_lists(index_t k, index_t lines) {
        return 2 * bytes_of_doubles(k) + bytes_of_factors(lines);
    }
    // Which lines were drawn, and the factors of both operands.
    static std::size_t bytes_of_factors(index_t lines) {
        return arena::rounded(static_cast<std::size_t>(lines) * sizeof(std::int32_t)) +
               2 * bytes_of_doubles(lines);
    }

    static double seconds_to_draw(double count) { return count * 50e-9; }
    template <class S>
    double seconds_for(S s, index_t lines, double draws) const {
        double const elements = static_cast<double>(lines) * static_cast<double>(s.m + s.n);
        double const bytes = 4 * elements * sizeof(typename S::wide_type); // read with gaps, and written
        s.k = larger_of(1, lines);
        return base_.estimate(s) + seconds_to_draw(draws) + bytes / this->bandwidth(s) +
               (on_host ? 0 : 60e-6);
    }
    // The most lines of k that are less work than the exact product.
    template <class S>
    index_t most_lines(S s) const {
        s = to_choose_by(s), s.count = 1;
        return this->most_that_pays(
            s, s.k, [&](index_t lines) { return seconds_for(s, lines, static_cast<double>(lines)); });
    }

    // The base's bound, relative to |A||B|: `sum` is that of the norms of all terms, and `largest` is that of one. The
    // elements of operands are rounded once more, and so is alpha. Of a normwise bound the estimate counts: it is of
    // the largest elements, and many times the error as it is.
    template <class S>
    double rounding_of(S s, index_t lines, double sum, double largest) const {
        s.k = lines, s.count = 1;
        bound const own = base_.error_bound(s);
        double const once = 2 * (unit_roundoff<typename S::a_type>() + unit_roundoff<typename S::b_type>()) +
                            2 * unit_roundoff<accumulator_t<typename S::wide_type>>();
        double const elements = static_cast<double>(s.m) * static_cast<double>(s.n);
        double const norms =
            own.normwise ? __builtin_sqrt(elements) * static_cast<double>(lines) * largest : sum;
        return (own.normwise ? own.expected : own.worst) * norms + once * sum;
    }

    // The lines that were drawn, and what they are multiplied by to have norms that are alike.
    struct drawn {
        std::int32_t* which;
        double *of_a, *of_b;
        index_t lines = 0;
        double sum = 0, largest = 0; // as rounding_of() has them

        template <class Memory>
        drawn(Memory& memory, index_t most)
            : which(memory.template take<std::int32_t>(most)), of_a(memory.template take<double>(most)),
              of_b(memory.template take<double>(most)) {}
    };
    // False: they are more than `most`.
    static bool collect(approximate_parts::draw_chances const& chances, line_norms const& norms,
                        double const* times, double count, index_t most, drawn& to) {
        for (index_t l = 0; l < norms.k; ++l) {
            double const w = chances.weight(l);
            if (times[l] == 0 || w == 0) continue;
            if (to.lines == most) return false;
            double const term = times[l] * w / chances.probability(l),
                         root = __builtin_sqrt(term / chances.longest());
            to.sum += term / count;
            to.largest = to.largest < term / count ? term / count : to.largest;
            to.which[to.lines] = static_cast<std::int32_t>(l);
            to.of_a[to.lines] = root / norms.a[l], to.of_b[to.lines] = root / norms.b[l];
            ++to.lines;
        }
        return true;
    }
    template <class P, class Host>
    status draw(P const& p, line_norms const& norms, prediction& said, arena& memory, Host& host) const {
        auto const s = p.shape();
        approximate_parts::draw_chances const chances(norms, options_.probabilities);
        auto* const ends = host.template take<double>(norms.k);
        auto* const times = host.template take<double>(norms.k);
        index_t const most = most_lines(s);
        drawn found(host, most);
        approximate_parts::draw_lines(chances, norms.k, options_.seed, static_cast<std::uint64_t>(said.count),
                                      ends, times);
        said.pays = collect(chances, norms, times, said.count, most, found);
        if (!said.pays) return {};
        said.error = chances.deviation(options_.confidence) / __builtin_sqrt(said.count) +
                     rounding_of(s, larger_of(1, found.lines), found.sum, found.largest);
        auto q = p;
        using R = real_t<typename P::scalar>;
        double const factor = chances.longest() * norms.all_a * norms.all_b / said.count;
        q.alpha = scaled_by(p.alpha, typename P::scalar(static_cast<R>(factor)));
        said.pays = said.error <= options_.tolerance && factor <= largest_number<R>() &&
                    factor >= 4 / largest_number<R>();
        if (!said.pays) return {};
        if (found.lines == 0) return scale_only(leaf(), p); // each has a norm of zero
        if (status done = gather(q, found, memory); !done) return done;
        return this->run_part(base_, q, memory);
    }
    template <class P>
    status gather(P& q, drawn const& found, arena& memory) const {
        using TA = typename P::a_type;
        using TB = typename P::b_type;
        using approximate_parts::like_rows_of, approximate_parts::gather_rows;
        auto const columns = q.a.transposed();
        index_t const lines = found.lines;
        auto const a =
            like_rows_of<TA, space>(columns, memory.template take<TA>(lines * columns.cols), lines);
        auto const b = like_rows_of<TB, space>(q.b, memory.template take<TB>(lines * q.b.cols), lines);
        if constexpr (on_host) {
            if (status s = gather_rows(leaf(), columns, found.which, found.of_a, a); !s) return s;
            if (status s = gather_rows(leaf(), q.b, found.which, found.of_b, b); !s) return s;
        } else {
            auto const at = leaf();
            auto const send = [&memory, &at, lines]<class E>(E const* from, auto& to) -> status {
                to = memory.template take<E>(lines);
                return at.upload(from, to, lines);
            };
            typename space::template handle<std::int32_t> which{};
            if (status s = send(found.which, which); !s) return s;
            auto const with = [&]<class Factor>(Factor const* by_a, Factor const* by_b) -> status {
                typename space::template handle<Factor> of_a{}, of_b{};
                if (status s = send(by_a, of_a); !s) return s;
                if (status s = send(by_b, of_b); !s) return s;
                if (status s = gather_rows(at, columns, which, of_a, a); !s) return s;
                return gather_rows(at, q.b, which, of_b, b);
            };
            if (status s = at.limits().has_double
                               ? with(found.of_a, found.of_b)
                               : with(narrowed(found.of_a, lines), narrowed(found.of_b, lines));
                !s)
                return s;
        }
        q.a = a.transposed(), q.b = b;
        return {};
    }

    // In the same memory.
    static float const* narrowed(double* x, index_t count) {
        auto* const bytes = reinterpret_cast<std::byte*>(x);
        for (index_t l = 0; l < count; ++l) {
            double const one = x[l];
            new (bytes + l * static_cast<index_t>(sizeof(float))) float(static_cast<float>(one));
        }
        return reinterpret_cast<float const*>(bytes);
    }

    monte_carlo_options options_;
};

// A product of draws of draws is that, and not a copy of one.
template <policy Base>
monte_carlo(monte_carlo<Base>) -> monte_carlo<monte_carlo<Base>>;

STRATAGEMM_END
