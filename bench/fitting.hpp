// What programs have in common that fit the costs of a device to what cuda_ways or opencl_ways measured, and judge them.
//
// The costs are those, none below zero, for which the sum of |log(predicted / measured)| is least: least squares of
// logarithms, weighted again and again. Ways that take much longer than the best one count less. A cost that no
// measurement depends on stays. Judged is what is chosen among all measured ways: its time over the shortest.
#pragma once

#include "ways.hpp"

#include <map>
#include <string>

namespace bench {

// Each product counts as much as any other; a way counts the less the longer it takes, and so do those that `of(w)` puts
// together. A way has `product`, `measured` and `weight`.
template <class Way, class Of>
void weigh(std::vector<Way>& all, Of&& of) {
    std::map<decltype(of(all.front())), std::pair<double, double>> found; // how many ways, and the shortest
    std::map<std::size_t, double> best;
    for (auto const& w : all) {
        auto& [count, least] = found.try_emplace(of(w), 0, 1e300).first->second;
        count += 1, least = std::min(least, w.measured);
        double& shortest = best.try_emplace(w.product, 1e300).first->second;
        shortest = std::min(shortest, w.measured);
    }
    for (auto& w : all) {
        auto const& [count, least] = found[of(w)];
        w.weight = std::pow(least / w.measured, 3) * best[w.product] / least / count;
    }
}

// Levenberg and Marquardt's method on logarithms of costs. What pulls each cost towards where it began keeps those in
// place that measurements hardly tell. A way says its time by(costs), and whether it depends_on(number of a cost); costs
// have `unknowns`, at(number), and by how much a cost is pulled(number).
template <class Way, class Costs>
class fitting {
    static constexpr std::size_t unknowns = Costs::unknowns;

public:
    fitting(std::vector<Way const*> ways, Costs const& begin)
        : ways_(std::move(ways)), begin_(begin), now_(begin), matrix_(unknowns, row(unknowns)),
          right_(unknowns) {}

    double loss() const { return loss(now_); }
    Costs run() {
        double damping = 1e-2, least = loss(now_);
        for (int round = 0; round < 60; ++round) {
            linearise();
            bool better = false;
            for (int tries = 0; tries < 8 && !better; ++tries) {
                Costs const next = step(damping);
                double const that = loss(next);
                better = that < least;
                damping = better ? damping / 4 : damping * 4;
                if (better) {
                    bool const ends = least - that < 1e-5 * least;
                    now_ = next, least = that;
                    if (ends) return now_;
                }
            }
            if (!better) break;
        }
        return now_;
    }

private:
    using row = std::vector<double>;
    static constexpr double sharp = 0.05; // deviations below it count by their squares

    static double deviation(Way const& w, Costs const& c) { return std::log(w.by(c) / w.measured); }
    static double value(Costs const& c, std::size_t i) { return static_cast<double>(c.at(i)); }
    double moved(std::size_t i, Costs const& c) const { return std::log(value(c, i) / value(begin_, i)); }
    double loss(Costs const& c) const {
        double sum = 0;
        for (auto const* w : ways_) {
            double const d = deviation(*w, c) / sharp;
            sum += w->weight * 2 * (std::sqrt(1 + d * d) - 1) * sharp;
        }
        for (std::size_t i = 0; i < unknowns; ++i) sum += Costs::pulled(i) * moved(i, c) * moved(i, c);
        return sum;
    }
    void linearise() {
        for (auto& r : matrix_) std::fill(r.begin(), r.end(), 0.0);
        std::fill(right_.begin(), right_.end(), 0.0);
        row slope(unknowns);
        for (auto const* w : ways_) {
            double const at = deviation(*w, now_), d = at / sharp;
            double const weight = w->weight / std::sqrt(1 + d * d) / sharp;
            for (std::size_t i = 0; i < unknowns; ++i) {
                slope[i] = 0;
                if (!w->depends_on(i)) continue;
                Costs other = now_;
                other.at(i) *= 1.001f;
                slope[i] = (deviation(*w, other) - at) / std::log(1.001);
            }
            for (std::size_t i = 0; i < unknowns; ++i) {
                if (slope[i] == 0) continue;
                right_[i] -= weight * slope[i] * at;
                for (std::size_t j = 0; j <= i; ++j) matrix_[i][j] += weight * slope[i] * slope[j];
            }
        }
        for (std::size_t i = 0; i < unknowns; ++i) {
            matrix_[i][i] += Costs::pulled(i);
            right_[i] -= Costs::pulled(i) * moved(i, now_);
        }
    }
    // Solves by Cholesky's factors.
    Costs step(double damping) const {
        auto l = matrix_;
        auto x = right_;
        for (std::size_t i = 0; i < unknowns; ++i) {
            l[i][i] = l[i][i] * (1 + damping) + 1e-9;
            for (std::size_t j = 0; j <= i; ++j) {
                for (std::size_t k = 0; k < j; ++k) l[i][j] -= l[i][k] * l[j][k];
                l[i][j] = i == j ? std::sqrt(std::max(l[i][i], 1e-12)) : l[i][j] / l[j][j];
            }
            for (std::size_t k = 0; k < i; ++k) x[i] -= l[i][k] * x[k];
            x[i] /= l[i][i];
        }
        Costs next = now_;
        for (std::size_t i = unknowns; i-- > 0;) {
            for (std::size_t k = i + 1; k < unknowns; ++k) x[i] -= l[k][i] * x[k];
            x[i] /= l[i][i];
            next.at(i) *= static_cast<float>(std::exp(std::clamp(x[i], -1.0, 1.0)));
        }
        return next;
    }

    std::vector<Way const*> ways_;
    Costs begin_, now_;
    std::vector<row> matrix_;
    row right_;
};

struct judged {
    std::vector<double> regret, error;
    std::string text; // of the product, what is chosen and the best way

    void add(judged const& other) {
        regret.insert(regret.end(), other.regret.begin(), other.regret.end());
        error.insert(error.end(), other.error.begin(), other.error.end());
    }
    void print(std::string const& what) {
        if (regret.empty()) return;
        double sum = 0;
        for (double const r : regret) sum += std::log(r);
        std::sort(regret.begin(), regret.end()), std::sort(error.begin(), error.end());
        std::size_t const n = regret.size();
        std::printf("%-24s %4zu products: over the best %.3f in the mean, 95th percentile %.3f, worst %.3f; "
                    "|log2(predicted / measured)| %.3f in the median\n",
                    what.c_str(), n, std::exp(sum / static_cast<double>(n)), regret[n * 95 / 100],
                    regret.back(), error[n / 2]);
    }
};

// Finds what is chosen among the measured ways of each product. `clocks(w)` predicts a way's `measured`; `text(w, clocks)`
// describes it.
template <class Way, class Clocks, class Text>
std::vector<judged> judge(std::vector<Way> const& all, std::size_t products, Clocks&& clocks, Text&& text) {
    struct found {
        double chosen_clocks = 1e300, best_clocks = 0;
        Way const *chosen = nullptr, *best = nullptr;
    };
    std::vector<found> of(products);
    for (Way const& w : all) {
        double const predicted = clocks(w);
        found& f = of[w.product];
        if (predicted < f.chosen_clocks) f.chosen_clocks = predicted, f.chosen = &w;
        if (!f.best || w.measured < f.best->measured) f.best = &w, f.best_clocks = predicted;
    }
    std::vector<judged> each(products);
    for (std::size_t i = 0; i < products; ++i) {
        found const& f = of[i];
        if (!f.chosen) continue;
        each[i].regret.push_back(f.chosen->measured / f.best->measured);
        each[i].error.push_back(std::abs(std::log2(f.chosen_clocks / f.chosen->measured)));
        each[i].text = text(*f.chosen, f.chosen_clocks) + "\n      best " + text(*f.best, f.best_clocks);
    }
    return each;
}

// By type, by family of shapes, and the `worst` products.
template <class Shape>
void report(std::vector<judged> const& each, std::vector<Shape> const& shapes, std::size_t worst) {
    std::map<std::string, judged> of;
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        std::string const type(1, shapes[i].type);
        for (std::string const& what : {type, type + " " + shapes[i].family, std::string("~ all")})
            of[what].add(each[i]);
        if (!each[i].regret.empty()) order.emplace_back(each[i].regret[0], i);
    }
    for (auto& [what, j] : of) j.print(what);
    std::sort(order.rbegin(), order.rend());
    for (std::size_t i = 0; i < order.size() && i < worst; ++i) {
        Shape const& x = shapes[order[i].second];
        std::printf("%.2f %c %td x %td x %td, %td of them, %c%c: %s\n", order[i].first, x.type, x.sides.m,
                    x.sides.n, x.sides.k, x.sides.count, x.a_along_k ? 'N' : 'T', x.b_along_k ? 'T' : 'N',
                    each[order[i].second].text.c_str());
    }
}

// How long it takes to choose for a shape that is not known yet: choose(shape).
template <class Shape, class Choose>
void time_choosing(std::vector<Shape> const& shapes, Choose&& choose) {
    std::vector<double> all;
    for (Shape const& x : shapes) {
        double least = 1e300;
        for (int i = 0; i < 5; ++i) {
            auto const start = std::chrono::steady_clock::now();
            if (choose(x) < 0) return;
            std::chrono::duration<double, std::micro> const took = std::chrono::steady_clock::now() - start;
            least = std::min(least, took.count());
        }
        all.push_back(least);
    }
    std::sort(all.begin(), all.end());
    std::printf("Choosing takes %.1f us in the median of %zu shapes, %.1f us at most\n", all[all.size() / 2],
                all.size(), all.back());
}

} // namespace bench
