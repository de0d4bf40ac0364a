// A whole algorithm of one's own, over any backend and under or over any other algorithm. To compile, from the
// top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/custom_algorithm.cpp -o custom_algorithm
#include <stratagemm/stratagemm.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace mine {
namespace sg = stratagemm;
using sg::index_t;

// Splits k: C = A1 B1 + A2 B2 + ..., each product over at most `block` columns of A. A sum of k terms added in
// order can be wrong by k roundings; added block by block, by no more than block + k / block.
template <sg::policy Base>
struct split_k {
    using space = typename Base::space;
    using arena = typename Base::arena;
    Base base;
    index_t block;

    explicit split_k(Base beneath, index_t at_most = 256) : base(beneath), block(at_most) {}

    // The base sees the same types, and no epilogue: that waits for the last block.
    template <class P>
    static constexpr sg::verdict
        accepts = sg::answer<Base, decltype(std::declval<P>().without_epilogue())>() &
                  sg::types_if(std::is_same_v<typename P::c_type, typename P::scalar>);

    auto leaf() const { return base.leaf(); }
    auto reserve(sg::footprint f) const { return base.reserve(f); }

    template <class S>
    sg::footprint workspace(S s) const {
        sg::footprint own; // in the memory that the operands are in, whichever that is
        space::share(own) = arena::rounded(static_cast<std::size_t>(s.m * s.n) * sizeof(typename S::c_type));
        return own + base.workspace(part_of(s));
    }
    // The base's error for one block, and one rounding for each addition of a block.
    template <class S>
    sg::bound error_bound(S const& s) const {
        sg::bound b = base.error_bound(part_of(s));
        double const u = sg::unit_roundoff<typename S::c_type>();
        double const additions = std::ceil(static_cast<double>(s.k) / static_cast<double>(block));
        b.worst += additions * u / (1 - additions * u) * (1 + b.worst);
        b.expected += std::sqrt(additions) * u;
        return b;
    }
    // The base's products of a block of k, one after the other.
    template <class S>
    double estimate(S const& s) const {
        double const parts = std::ceil(static_cast<double>(s.k) / static_cast<double>(block));
        return static_cast<double>(s.count) * parts * base.estimate(part_of(s));
    }
    template <class S>
    std::string describe(S const& s) const {
        return "split_k(" + std::to_string(block) + ") over " + base.describe(part_of(s));
    }

    template <class P>
    sg::status operator()(P const& batch, arena& workspace) const {
        if (block < 1) return sg::error(sg::errc::argument, "split_k", "block must be at least 1");
        using T = typename P::c_type;
        typename arena::scope const until_return(workspace);
        auto const memory = workspace.template take<T>(batch.c.rows * batch.c.cols);
        for (index_t t = 0; t < batch.count; ++t) {
            auto const p = batch.at(t);
            for (index_t l = 0; l < p.a.cols; l += block) {
                index_t const width = std::min(block, p.a.cols - l);
                auto part = p.without_epilogue().part(0, 0, l, p.c.rows, p.c.cols, width);
                if (l > 0) { // the first goes to C, with beta E; the others are added to it
                    part.beta = 0;
                    part.c = {memory, p.c.rows, p.c.cols, p.c.cols, 1};
                }
                if (sg::status s = base(part, workspace); !s) return s;
                if (l > 0)
                    if (sg::status s = leaf().add(p.c, part.c, p.c); !s) return s;
            }
            if constexpr (!std::is_same_v<typename P::epilogue_type, sg::identity>)
                if (sg::status s = leaf().apply(p.epilogue, p.c, p.row0, p.col0); !s) return s;
        }
        return {};
    }

private:
    template <class S>
    S part_of(S s) const {
        s.k = std::min(s.k, block);
        s.count = 1;
        return s;
    }
};
} // namespace mine

// ---- using it --------------------------------------------------------------------------------------------

namespace sg = stratagemm;
using sg::index_t;

int failures = 0;

// The largest error of a policy, measured against the oracle and held against the policy's own bound.
template <sg::policy P>
void check(char const* what, P const& policy) {
    index_t const m = 33, n = 29, k = 1000;
    sg::matrix<float> a(m, k,
                        [](index_t i, index_t j) { return std::sin(1.0 + double(i) + 2.3 * double(j)); });
    sg::matrix<float> b(k, n, [](index_t i, index_t j) { return std::cos(1.7 * double(i) + double(j)); });
    sg::matrix<float> c(m, n), e(m, n, [](auto, auto) { return 1; });
    sg::matrix<double> exact(m, n);
    sg::gemm(sg::reference{}, a, b, exact, sg::scale(2.0));
    sg::gemm(policy, a, b, c, sg::scale(2.0f));

    double worst = 0;
    for (index_t i = 0; i < m; ++i)
        for (index_t j = 0; j < n; ++j) worst = std::max(worst, std::fabs(double(c(i, j)) - exact(i, j)) / 2);
    // |A||B| is at most k here, and so is k max|A| max|B|.
    sg::bound const bound = policy.error_bound(sg::shape<float>{.m = m, .n = n, .k = k});
    bool const holds = worst <= bound.worst * double(k);
    std::printf("%-20s error %.1e, bound %.1e: %s\n", what, worst, bound.worst * double(k),
                holds ? "ok" : "WRONG");
    std::printf("    %s\n", policy.describe(sg::shape<float>{.m = m, .n = n, .k = k}).c_str());
    failures += !holds;
}

int main() {
    sg::host const cpu;
    check("host", cpu);
    check("split_k{host}", mine::split_k{cpu});
    check("split_k{strassen}", mine::split_k{sg::strassen{cpu, {.levels = 1}}, 100});
    check("strassen{split_k}", sg::strassen{mine::split_k{cpu, 100}, {.levels = 1}});
    return failures;
}
