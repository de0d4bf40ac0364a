// What products on CUDA devices share: the policy for a device and a stream, and epilogues.
#pragma once

#include "device.hpp"
#include "stated.hpp"

#include <stratagemm/backend/cuda.hpp>

namespace stratagemm_python {

// DLPack counts the streams that have no handle: 1 is the legacy default stream, 2 that of each thread.
inline sg::cuda device_at(int number, dlpack::stream const& on) {
    sg::cuda gpu;
    gpu.device = number;
    gpu.stream = on.number <= 1 ? nullptr : reinterpret_cast<CUstream>(on.number);
    return gpu;
}
// The epilogue of a call, for sums of type S on a device; the values of a bias stay where they are.
template <class S>
struct device_steps {
    using values = sg::cuda_pointer<S const>;
    steps<S, values> value;

    outcome failed() const {
        if (failed_.status) return {};
        return {sg::status(failed_.status.error()), failed_.is_of_types};
    }
    explicit device_steps(product const& p) {
        for (stated_step const& from : p.epilogue) {
            if (char const* const wrong = wrong_step<S>(from)) {
                failed_ = refuse_types(wrong);
                return;
            }
            if (from.values && (from.values->type != kind_of<S> ||
                                (from.values->side[0] > 1 && from.values->stride[0] != 1))) {
                failed_ = refuse_types(
                    "gemm: on a device the values of bias and scale lie side by side, in the type in "
                    "which the products are summed");
                return;
            }
            step<S, values> one{from.what, from.axis, scalar_as<S>(from.first), scalar_as<S>(from.second),
                                {},        0};
            if (from.values)
                one.values = {static_cast<S const*>(from.values->data)}, one.count = from.values->side[0];
            all_.push_back(one);
        }
        value.first = all_.data(), value.count = static_cast<int>(all_.size());
    }

private:
    outcome failed_;
    std::vector<step<S, values>> all_;
};

// As structured.hpp has sides.
struct cuda_side {
    sg::cuda policy;

    template <class X>
    auto place(X const& x) const {
        return sg::cuda::on_device(x);
    }
    template <class S>
    using steps = device_steps<S>;
};

// A product of a structured operand, whose arrays are ready on the policy's stream.
outcome multiply_structured_there(product const& p, sg::cuda const& gpu);
// A product of two types that go together.
outcome multiply_two_types_there(product const& p, sg::cuda const& gpu);

} // namespace stratagemm_python
