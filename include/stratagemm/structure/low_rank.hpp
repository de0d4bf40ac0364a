// Factors of a matrix that has, to a tolerance, a low rank; with a certificate of how far they are from it.
//
//   auto const a = sg::low_rank(policy, matrix, {.tolerance = 1e-4});    as many columns as that takes
//   auto const a = sg::low_rank(policy, matrix, {.rank = 100});          the nearest that 100 columns come
//   auto const a = sg::low_rank(policy, csr, {.tolerance = 1e-4});       of any operand that the policy multiplies
//   a.rank(), a.report().bound.worst                                     |A - U V| / |A|, with a.report().bound.confidence
//   sg::gemm(policy, a, b, c);                                           U (V B): two dense products (factored.hpp)
//
// The factors belong to `a`, in the memory of the policy, and copies of `a` share them. A tolerance that no factors of
// fewer elements than the matrix keep, or none of the given rank, is refused: errc::argument. What is certified is the
// distance in the Frobenius norm, from products with random vectors that the factors were not made from, summed in
// double. The same seed gives the same bits, for any number of threads.
#pragma once

#include "low_rank/range.hpp"

STRATAGEMM_BEGIN

template <class T, policy P>
class low_rank_matrix : public owned<factored<T, typename P::space>, P> {
    using base = owned<factored<T, typename P::space>, P>;

public:
    low_rank_matrix() = default;
    low_rank_matrix(base factors, stratagemm::report made) : base(std::move(factors)), report_(made) {}

    index_t rank() const { return this->view().left.cols; }
    // `bound`: of |A - U V| / |A|; `error`: an estimate of it. `count`: the rank.
    stratagemm::report const& report() const { return report_; }

private:
    stratagemm::report report_;
};

template <policy P, operand A>
auto try_low_rank(P const& policy, A const& a, low_rank_options const& options)
    -> result<low_rank_matrix<value_of<A const>, P>> {
    using T = value_of<A const>;
    using W = typename in_double<T>::type;
    auto const from = reading(as_view(a));
    using From = std::remove_const_t<decltype(from)>;
    static_assert(!is_batch<From>::value, "stratagemm: low_rank() takes one matrix, and no batch");
    static_assert(
        is_view<From>::value || can_be_widened<From, W>,
        "stratagemm: low_rank() certifies its factors in double, and can widen views, sparse, factored and "
        "Toeplitz matrices: make another operand of doubles");
    auto const refuse = [](char const* why) { return failure(errc::argument, "low_rank", why); };
    if (from.rows < 1 || from.cols < 1) return failure(errc::shape, "low_rank", "the matrix has no elements");
    if (!(options.tolerance >= 0 && options.tolerance < 1))
        return refuse("`tolerance` is from 0 to 1, and less than 1");
    if (options.rank < 0 || options.rank > from.rows || options.rank > from.cols)
        return refuse("`rank` is at most the number of rows and of columns");
    if (options.rank == 0 && options.tolerance == 0) return refuse("give a `tolerance`, a `rank`, or both");
    if (!(options.confidence > 0 && options.confidence < 1))
        return refuse("`confidence` is more than 0 and less than 1");
    range_finder<P, From, W> finder(policy, from, options);
    if (status s = finder.find(); !s) return s;
    report made;
    made.ran = "low_rank", made.reason = "products with random vectors certify the factors";
    made.count = static_cast<int>(finder.q().cols), made.seed = options.seed;
    made.error = finder.estimated_error();
    made.bound = {finder.certified_error(), finder.estimated_error(), true, options.confidence};
    using factors = factored<T, typename P::space>;
    return low_rank_matrix<T, P>(owned<factors, P>(finder.memory(), factors(finder.q(), finder.b())), made);
}
template <policy P, operand A>
auto low_rank(P const& policy, A const& a, low_rank_options const& options) {
    auto made = try_low_rank(policy, a, options);
    made.or_throw();
    return *std::move(made);
}

STRATAGEMM_END
