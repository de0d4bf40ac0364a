// expect: the operands are not in the memory space of this policy: use a policy of their memory, copy them to the policy
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

struct far_memory : sg::host_memory {};
struct far_leaf {
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
struct far_policy : sg::reference {
    using space = far_memory;
    far_leaf leaf() const { return {}; }
};

void near(sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) {
    sg::gemm(far_policy{}, a, b, c);
}
