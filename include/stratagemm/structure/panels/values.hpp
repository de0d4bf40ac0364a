// The values of a bias or a scale for a C in panels: each device has a copy of all of them, and reads its own.
#pragma once

#include "copies.hpp"

STRATAGEMM_BEGIN

// What bias() and scale() keep of panel_values.
template <class T, class Space, class Queue>
struct values_in_panels {
    panel_of<T, Space, Queue> const* panels; // one row on each device
    int count;
};

namespace panel_parts {

// An epilogue as a device runs it, with the values that this device has.
struct on_device {
    int device;

    template <class F>
    F const& operator()(F const& f) const {
        return f;
    }
    template <template <class, class> class F, class T, class Space, class Queue>
    auto operator()(F<T, values_in_panels<T, Space, Queue>> const& f) const {
        using handle = typename Space::template handle<T const>;
        return F<T, handle>{f.values.panels[device].data.data, f.count, f.axis};
    }
    template <class First, class Second>
    auto operator()(then_epilogue<First, Second> const& f) const {
        return then((*this)(f.first), (*this)(f.second));
    }
};
template <class F>
using epilogue_on_device = std::remove_cvref_t<decltype(on_device{0}(std::declval<F const&>()))>;

// visit(values) for all of an epilogue.
template <class F, class Visit>
void each_values(F const&, Visit&&) {}
template <template <class, class> class F, class T, class Space, class Queue, class Visit>
void each_values(F<T, values_in_panels<T, Space, Queue>> const& f, Visit&& visit) {
    visit(f.values);
}
template <class First, class Second, class Visit>
void each_values(then_epilogue<First, Second> const& f, Visit&& visit) {
    each_values(f.first, visit);
    each_values(f.second, visit);
}

// Whether two have panels on the same devices, in the same order.
template <class T, class U, class Space, class Queue>
bool have_same_devices(panel_of<T, Space, Queue> const* x, int count_of_x, panel_of<U, Space, Queue> const* y,
                       int count_of_y) {
    bool same = count_of_x == count_of_y;
    if constexpr (peer_leaf<Queue, Space>)
        for (int i = 0; same && i < count_of_x; ++i) same = x[i].queue.is_beside(y[i].queue);
    return same;
}
inline status other_devices() {
    return failure(errc::argument, "panels: the policy, the matrices and the values of an epilogue must have "
                                   "the same devices, in the same order");
}

// Whether an epilogue has values in one memory only.
template <class F>
inline constexpr bool has_vectors = false;
template <class T, class V>
inline constexpr bool has_vectors<bias_epilogue<T, V>> = true;
template <class T, class V>
inline constexpr bool has_vectors<scale_of_lines_epilogue<T, V>> = true;
template <class T, class Space, class Queue>
inline constexpr bool has_vectors<bias_epilogue<T, values_in_panels<T, Space, Queue>>> = false;
template <class T, class Space, class Queue>
inline constexpr bool has_vectors<scale_of_lines_epilogue<T, values_in_panels<T, Space, Queue>>> = false;
template <class First, class Second>
inline constexpr bool has_vectors<then_epilogue<First, Second>> = has_vectors<First> || has_vectors<Second>;

} // namespace panel_parts

STRATAGEMM_END
