#include "tensor.hpp"

#include <utility>

namespace stratagemm_python {

kind_facts const& facts(kind k) {
    static kind_facts const all[] = {
        {"no type", nullptr, 0, -1, 0},  {"float32", "f", 4, 2, 32},       {"float64", "d", 8, 2, 64},
        {"complex64", "Zf", 8, 5, 64},   {"complex128", "Zd", 16, 5, 128}, {"float16", "e", 2, 2, 16},
        {"bfloat16", nullptr, 2, 4, 16}, {"int8", "b", 1, 0, 8},           {"int32", "i", 4, 0, 32},
        {"int64", "l", 8, 0, 64},
    };
    return all[static_cast<int>(k)];
}

void lines_to_columns(tensor& x, int axis) {
    if (x.dimensions == 1) {
        x.side[1] = 1, x.stride[1] = 1, x.dimensions = 2;
        return;
    }
    for (int i = axis; i + 1 < x.dimensions; ++i)
        std::swap(x.side[i], x.side[i + 1]), std::swap(x.stride[i], x.stride[i + 1]);
    int const last = x.dimensions - 1;
    std::swap(x.side[last], x.side[last - 1]), std::swap(x.stride[last], x.stride[last - 1]);
}
tensor const* turned_tensor(tensor const* x, tensor& to) {
    if (!x) return nullptr;
    to = *x;
    int const last = to.dimensions - 1;
    std::swap(to.side[last], to.side[last - 1]), std::swap(to.stride[last], to.stride[last - 1]);
    return &to;
}

} // namespace stratagemm_python
