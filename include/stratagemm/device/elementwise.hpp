// copy, add, fill and apply: the operations that algorithms need besides products. They take views with any
// strides, on every leaf that launches kernels of the dialect.
#pragma once

#include "dialect.hpp"
#include "product.hpp"

STRATAGEMM_BEGIN

// x and y have the element type IN, the result has OUT; fill and apply take one type for both.
inline constexpr char elementwise_text[] = R"(
#define RESULT MATRIX(OUT, to), int rows, int cols
/* The columns have the smaller stride. */
#define PLACE ELEMENT(i, j, rows, cols); OPEN(OUT, to)
#define STORE_RESULT(x) STORE(OUT, to, AT(to, i, j), CONVERT(OUT_VALUE, (value)(x)))

KERNEL(ITEMS) copy(MATRIX(IN const, x), scalar x_scale, int x_conjugated, RESULT) {
    PLACE;
    OPEN(IN const, x);
    scalar const first = LOAD(IN, x, AT(x, i, j));
    STORE_RESULT(scale_by(x_scale, conjugate_if(x_conjugated, first)));
}

KERNEL(ITEMS) add(MATRIX(IN const, x), scalar x_scale, int x_conjugated, MATRIX(IN const, y), scalar y_scale,
                  int y_conjugated, RESULT) {
    PLACE;
    OPEN(IN const, x);
    OPEN(IN const, y);
    scalar const first = LOAD(IN, x, AT(x, i, j)), second = LOAD(IN, y, AT(y, i, j));
    STORE_RESULT(scale_by(x_scale, conjugate_if(x_conjugated, first)) +
                 scale_by(y_scale, conjugate_if(y_conjugated, second)));
}

KERNEL(ITEMS) fill(scalar number, RESULT) {
    PLACE;
    STORE_RESULT(number);
}

#ifdef EPILOGUE_BODY
KERNEL(ITEMS) apply(int turned, index row0, index col0 EPILOGUE_STATE, RESULT) {
    PLACE;
    scalar const element = LOAD(OUT, to, AT(to, i, j));
    STORE_RESULT(epilogue((value)element, row0 + (turned ? j : i), col0 + (turned ? i : j) EPILOGUE_NAMES));
}
#endif
)";

// A part of Leaf, whose `layer` names it in errors; Epilogue<Value> is what its launch() takes.
template <class Leaf, class Space, template <class> class Epilogue>
class elementwise_operations {
public:
    template <class Value>
    using epilogue = Epilogue<Value>;

    template <class From, class To>
    requires(complex_like<std::remove_cv_t<From>> == complex_like<To>) status
        copy(view<From, Space> from, view<To, Space> to)
    const {
        view<From, Space> const x = rows_are_closer(to) ? from.transposed() : from;
        return run<std::remove_cv_t<From>>("copy", {}, to, x, x.scale, int{x.conjugate});
    }

    template <class X, class Y, class To>
    requires(std::same_as<std::remove_cv_t<X>, std::remove_cv_t<Y>>&& complex_like<std::remove_cv_t<X>> ==
             complex_like<To>) status add(view<X, Space> x, view<Y, Space> y, view<To, Space> to)
    const {
        if (rows_are_closer(to)) x = x.transposed(), y = y.transposed();
        return run<std::remove_cv_t<X>>("add", {}, to, x, x.scale, int{x.conjugate}, y, y.scale,
                                        int{y.conjugate});
    }

    template <class To>
    status fill(view<To, Space> to, To value) const {
        return run<To>("fill", {}, to, static_cast<accumulator_t<To>>(value));
    }

    template <class F, class To>
    requires has_source<F, Epilogue<accumulator_t<To>>> status apply(F const& f, view<To, Space> to,
                                                                     index_t row0, index_t col0)
    const {
        return or_no_memory([&] {
            Epilogue<accumulator_t<To>> const last(f);
            return run<To>("apply", last.definitions(), to, int{rows_are_closer(to)}, row0, col0, last);
        });
    }

private:
    // One work-item for each element of `to`, along its smaller stride first.
    template <class In, class To, class... Arguments>
    status run(char const* kernel, std::string const& definitions, view<To, Space> to,
               Arguments const&... arguments) const {
        auto const& leaf = static_cast<Leaf const&>(*this);
        if (rows_are_closer(to)) to = to.transposed();
        bool const empty = to.rows == 0 || to.cols == 0;
        bool const fits = empty || (to.rows <= device_longest && to.cols <= device_longest);
        index_t const groups = fits ? groups_for_elements(to.rows, to.cols) : 0;
        if (!fits || groups > leaf.limits().groups)
            return error(errc::unsupported, Leaf::layer,
                         "a matrix is too large for one launch; work on blocks");
        device_kernel const compiled{kernel, elementwise_text,    definitions, 256, uses_double<In, To>,
                                     false,  kernel_types<In, To>};
        return leaf.launch(compiled, groups, arguments..., to, static_cast<int>(to.rows),
                           static_cast<int>(to.cols));
    }
};

STRATAGEMM_END
