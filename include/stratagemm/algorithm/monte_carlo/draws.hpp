// Which columns of A, and rows of B, `monte_carlo` draws: how likely each is, how many draws a tolerance takes, and the
// draws. docs/accuracy.md derives the bounds.
//
// All norms are relative here: of a column to |A|, of a row to |B|. With w_l = |A_l||B_l| and probabilities p_l, the
// mean of c terms A_l B_l / p_l has the expected squared error (V - |A B|^2) / c at most, V = sum w_l^2 / p_l. No term
// is longer than M = max w_l / p_l.
#pragma once

#include "../../structure/sketch/host.hpp"
#include "../approximate.hpp"

STRATAGEMM_BEGIN

enum class draw_probabilities {
    optimal, // as |A_l||B_l|: the least expected error
    uniform, // all alike
    norms    // as |A_l|^2
};

namespace approximate_parts {

// The draws of a generator's seed that is used for nothing else: "draw".
inline constexpr std::uint32_t stream_of_draws = 0x64726177;

class draw_chances {
public:
    draw_chances(line_norms const& norms, draw_probabilities which)
        : norms_(norms), which_(which), by_a_(1 / norms.all_a), by_b_(1 / norms.all_b) {
        for (index_t l = 0; l < norms.k; ++l) all_weights_ += weight(l);
        for (index_t l = 0; l < norms.k; ++l) {
            double const w = weight(l);
            largest_weight_ = largest_weight_ < w ? w : largest_weight_;
            // Where probabilities are as weights, all terms are alike.
            if (w == 0 || which == draw_probabilities::optimal) continue;
            double const term = w / probability(l);
            variance_ += w * term;
            longest_ = longest_ < term ? term : longest_;
        }
        if (which == draw_probabilities::optimal)
            longest_ = all_weights_, variance_ = all_weights_ * all_weights_;
    }
    double weight(index_t l) const { return norms_.a[l] * by_a_ * (norms_.b[l] * by_b_); }
    double probability(index_t l) const {
        if (which_ == draw_probabilities::uniform) return 1 / static_cast<double>(norms_.k);
        if (which_ == draw_probabilities::optimal) return weight(l) / all_weights_;
        double const a = norms_.a[l] * by_a_;
        return a * a;
    }
    double all_weights() const { return all_weights_; }
    double longest() const { return longest_; }               // M
    double largest_weight() const { return largest_weight_; } // of w
    double deviation() const {
        return __builtin_sqrt(variance_);
    } // of the error, times the root of c, at most

    // The error, times the root of c, that is exceeded with a probability of at most 1 - confidence: by Chebyshev's
    // inequality, or by McDiarmid's, since another draw moves the mean by 2 M / c at most. The smaller counts.
    double deviation(double confidence) const {
        double const fails = 1 - confidence, root = deviation();
        double const chebyshev = root / __builtin_sqrt(fails),
                     mcdiarmid = root + longest_ * __builtin_sqrt(-2 * __builtin_log(fails));
        return chebyshev < mcdiarmid ? chebyshev : mcdiarmid;
    }
    // How many lines c draws are expected to have, each counted once.
    double distinct(double count) const {
        double all = 0;
        for (index_t l = 0; l < norms_.k; ++l) {
            double const p = probability(l);
            if (weight(l) > 0) all += p < 1 ? -__builtin_expm1(count * __builtin_log1p(-p)) : 1;
        }
        return all;
    }

private:
    line_norms const& norms_;
    draw_probabilities which_;
    double by_a_, by_b_; // norms are at least 2^-450
    double all_weights_ = 0, variance_ = 0, longest_ = 0, largest_weight_ = 0;
};

// Draw number `at`: a number in [0, 1).
inline double uniform_draw(std::uint64_t seed, std::uint64_t at) {
    std::uint32_t words[4];
    draw_words({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), stream_of_draws,
                static_cast<std::uint32_t>(at / 2), static_cast<std::uint32_t>(at / 2 >> 32)},
               words);
    std::size_t const half = at % 2 * 2;
    std::uint64_t const bits = std::uint64_t{words[half]} << 32 | words[half + 1];
    return static_cast<double>(bits >> 11) * 0x1p-53;
}
// Adds to times[l] how often line l is drawn. `ends` has room for k numbers.
inline void draw_lines(draw_chances const& chances, index_t k, std::uint64_t seed, std::uint64_t count,
                       double* ends, double* times) {
    double end = 0;
    index_t last = 0;
    for (index_t l = 0; l < k; ++l) {
        double const before = end;
        ends[l] = end += chances.probability(l), times[l] = 0;
        if (end > before) last = l;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        double const x = uniform_draw(seed, i) * end;
        index_t low = 0, high = last; // the first whose end is beyond x
        while (low < high) {
            index_t const middle = low + (high - low) / 2;
            if (ends[middle] > x)
                high = middle;
            else
                low = middle + 1;
        }
        times[low] += 1;
    }
}

} // namespace approximate_parts

STRATAGEMM_END
