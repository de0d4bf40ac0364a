// What bench_approximate multiplies, and the ways in which it does: of exact products every precision, of structured
// and approximate ones every method, on the host. Nothing here takes time or chooses.
#pragma once

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/toeplitz.hpp>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace bench {

namespace sg = stratagemm;
using sg::index_t;

// The operands of a product of n x n, n a power of two. Their elements are floats, so that a product of doubles
// multiplies the same numbers; those of half and bfloat16 are rounded.
struct approximate_data {
    std::string name;
    sg::matrix<float> a, b;
    std::vector<float> diagonals{}; // of A, the lowest first, if it is a Toeplitz matrix
    index_t nonzeros = 0;           // of the product, if they are known
};
enum class data_kind { unstructured, uneven, decaying, planted, toeplitz };
approximate_data make_data(data_kind, index_t n);

inline double frobenius(sg::matrix<float> const& x) {
    double sum = 0;
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j) sum += double(x(i, j)) * double(x(i, j));
    return std::sqrt(sum);
}

// What a way says of its result.
struct outcome {
    std::string refusal{}; // if it is not empty, nothing was written
    double promised = -1;  // of |C - A B| / |A| |B|; negative: nothing
    double confidence = 1; // of that
    std::string note{};
};

// The result of a call whose policy wrote a report.
outcome outcome_of(sg::status const&, sg::report const&);

// One method at one setting.
struct way {
    std::string method, setting;
    std::function<outcome()> run;
    bool in_double = false; // where the result is

    std::string name() const { return setting.empty() ? method : method + ", " + setting; }
};

// The operands in every precision, and the results of all ways, which write them in turn.
struct approximate_product {
    explicit approximate_product(approximate_data);
    approximate_product(approximate_product const&) = delete; // ways refer to it

    index_t n;
    approximate_data data;
    sg::matrix<double> a64, b64, c64;
    sg::matrix<sg::half> a16, b16;
    sg::matrix<sg::bfloat16> ab16, bb16;
    sg::matrix<float> c32;
    sg::host cpu{};
    double norms = 1; // |A| |B|
    // A from its diagonals, if there are any.
    using toeplitz_operand = sg::toeplitz_matrix<float>;
    toeplitz_operand diagonals{};
    decltype(std::declval<toeplitz_operand const&>().by_transforms()) by_transforms{};
};

std::vector<way> exact_ways(approximate_product&);
std::vector<way> structured_ways(approximate_product&);
std::vector<way> approximate_ways(approximate_product&);

// bench_approximate coverage: of every method that states a confidence, the share of trials whose error was within what
// was promised. Gives how many methods were below their confidence by more than chance explains.
int print_coverage(int trials);

} // namespace bench
