// How far a matrix is from another, from products with random vectors.
//
// If E is a matrix, and w has independent standard normal elements, E|E w|^2 = |E|^2 in the Frobenius norm. Let rho^2 be the
// mean of |E w|^2 over r vectors. Then |E| <= certified(r, confidence) rho with that confidence, for every E: below its
// mean, a sum of squares of normal numbers with weights of a given sum is most likely to be small if one weight has all
// (Szekely, Bakirov: Extremal probabilities for Gaussian quadratic forms, 2003), which is a chi-squared number of r
// degrees of freedom over r. If w is complex, with E|w_i|^2 = 1, it is one of 2r degrees over 2r.
#pragma once

#include "config.hpp"

STRATAGEMM_BEGIN

// The probability that a chi-squared number of so many degrees of freedom is at most x: the series of the incomplete
// gamma function, all of whose terms are positive.
inline double chi_squared_below(double x, int degrees) {
    if (x <= 0) return 0;
    double const a = degrees / 2.0, y = x / 2;
    double term = __builtin_exp(a * __builtin_log(y) - y - __builtin_lgamma(a + 1)), sum = term;
    for (int i = 1; term > sum * 1e-17; ++i) sum += term *= y / (a + i);
    return sum < 1 ? sum : 1;
}
// The x below which such a number is with a probability of p, 0 < p < 1.
inline double chi_squared_quantile(double p, int degrees) {
    double low = 0, high = degrees;
    while (chi_squared_below(high, degrees) < p) high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; ++i) {
        double const middle = (low + high) / 2;
        (chi_squared_below(middle, degrees) < p ? low : high) = middle;
    }
    return low; // the smaller, so that what is divided by it is not too small
}
// For real vectors; complex ones count twice.
inline double certified(int vectors, double confidence) {
    return __builtin_sqrt(vectors / chi_squared_quantile(1 - confidence, vectors));
}

STRATAGEMM_END
