// expect: neither a host_leaf nor a device_leaf
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/csr.hpp>

namespace sg = stratagemm;

// A leaf with the operations that all have, and nothing to run code of an operand's own with.
struct bare_leaf {
    template <class... Views>
    sg::status copy(Views...) const;
    template <class... Views>
    sg::status add(Views...) const;
    template <class View, class T>
    sg::status fill(View, T) const;
    template <class F, class View>
    sg::status apply(F const&, View, sg::index_t, sg::index_t) const;
    sg::status synchronize() const;
};
struct bare : sg::reference {
    bare_leaf leaf() const { return {}; }
};

void sparse(sg::csr<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) { sg::gemm(bare{}, a, b, c); }
