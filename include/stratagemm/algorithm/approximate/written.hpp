// Sparse operands that a device has written out for approximate policies.
#pragma once

#include "../../structure/csr/operand.hpp"

STRATAGEMM_BEGIN

namespace approximate_parts {

// A csr on a device without its factor, and the same as a matrix: norms, sketches and certificates read the matrix, and
// an exact product reads the list.
template <class T, class Index, class Space>
struct written_csr : csr<T, Index, Space> {
    view<T const, Space> places{};
};
template <class X>
X const& as_read(X const& x) {
    return x;
}
template <class T, class Index, class Space>
view<T const, Space> const& as_read(written_csr<T, Index, Space> const& x) {
    return x.places;
}

} // namespace approximate_parts

STRATAGEMM_END
