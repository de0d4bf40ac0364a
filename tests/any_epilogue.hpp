// Any epilogue as one type: layers handed this are compiled once for all epilogues of a test.
#pragma once

#include <stratagemm/core/epilogue.hpp>

// Refers to an epilogue for elements of S. Compilers cannot inline it: tests of what they make of an epilogue
// in the loop that applies it must not use this type.
template <class S>
class any_epilogue {
    using index_t = stratagemm::index_t;

public:
    template <class E>
    explicit any_epilogue(E const& e)
        : epilogue_(&e), apply_([](void const* f, S x, index_t i, index_t j) {
              return stratagemm::apply_epilogue(*static_cast<E const*>(f), x, i, j);
          }),
          fits_([](void const* f, index_t m, index_t n) {
              return stratagemm::epilogue_fits(*static_cast<E const*>(f), m, n);
          }) {}

    S operator()(S x, index_t i, index_t j) const { return apply_(epilogue_, x, i, j); }
    bool fits(index_t m, index_t n) const { return fits_(epilogue_, m, n); }

private:
    void const* epilogue_;
    S (*apply_)(void const*, S, index_t, index_t);
    bool (*fits_)(void const*, index_t, index_t);
};
