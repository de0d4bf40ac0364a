// Products on CUDA devices, queued on a stream.
#include "../device_policies.hpp"
#include "device.hpp"
#include "stated.hpp"

namespace stratagemm_python {
namespace {

using stratagemm_bindings::device_policy;
constexpr auto& names = stratagemm_bindings::device_policy_names;

// DLPack counts the streams that have no handle: 1 is the legacy default stream, 2 that of each thread.
sg::cuda device_at(int number, dlpack::stream const& on) {
    sg::cuda gpu;
    gpu.device = number;
    gpu.stream = on.number <= 1 ? nullptr : reinterpret_cast<CUstream>(on.number);
    return gpu;
}
// f(policy)
template <class F>
outcome with_policy(int number, sg::cuda const& gpu, F const& f) {
    return stratagemm_bindings::with_device_policy(device_policy{number}, gpu, f);
}

// The epilogue of a call, for sums of type S on a device; the values of a bias stay where they are.
template <class S>
struct device_steps {
    using values = sg::cuda_pointer<S const>;
    steps<S, values> value;
    outcome error;

    explicit device_steps(product const& p) {
        for (stated_step const& from : p.epilogue) {
            if (char const* const wrong = wrong_step<S>(from)) {
                error = refuse_types(wrong);
                return;
            }
            if (from.values && (from.values->type != kind_of<S> ||
                                (from.values->side[0] > 1 && from.values->stride[0] != 1))) {
                error = refuse_types(
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
    std::vector<step<S, values>> all_;
};

constexpr auto place = [](auto const& x) { return sg::cuda::on_device(x); };

template <class T, class C>
outcome multiply_there(product const& p, int policy, sg::cuda const& gpu) {
    using S = sg::accumulator_t<T>;
    using Problem = sg::dense_problem<T, T, C, sg::cuda_memory, steps<S, sg::cuda_pointer<S const>>>;
    if (outcome o = check_scalars<S>(p); !o.status) return o;
    batch_dimensions batch;
    if (sg::status s = batch.find(p); !s) return {std::move(s)};
    device_steps<S> epilogue(p);
    if (!epilogue.error.status) return std::move(epilogue.error);
    return with_policy(policy, gpu, [&](auto const& chosen) -> outcome {
        if constexpr (!sg::takes<std::remove_cvref_t<decltype(chosen)>, Problem>)
            return refuse_types(std::string("gemm: the policy ") + names[policy] + " multiplies no " +
                                facts(kind_of<T>).name + " into " + facts(kind_of<C>).name);
        sg::status failed;
        batch.each_outer(p, [&](product const& part) {
            if (!failed) return;
            if constexpr (sg::takes<std::remove_cvref_t<decltype(chosen)>, Problem>)
                failed = sg::run(chosen, stated_dense<T, C>(part, batch, epilogue.value, place));
        });
        return {std::move(failed)};
    });
}
template <class T, class C>
outcome describe_there(planned_shape const& s, int policy, sg::cuda const& gpu, std::string& text) {
    return with_policy(policy, gpu, [&](auto const& chosen) -> outcome {
        using Policy = std::remove_cvref_t<decltype(chosen)>;
        if constexpr (sg::takes<Policy, sg::dense_problem<T, T, C, sg::cuda_memory>>) {
            if (sg::status ready = gpu.ready(); !ready) return {std::move(ready)};
            sg::shape<T, T, C> shape;
            shape.m = s.m, shape.n = s.n, shape.k = s.k, shape.count = s.count, shape.adds = s.adds;
            text = chosen.describe(shape);
            return {};
        } else {
            return refuse_types(std::string("gemm: the policy ") + names[policy] + " multiplies no " +
                                facts(kind_of<T>).name + " into " + facts(kind_of<C>).name);
        }
    });
}

struct pair {
    kind a, c;
    outcome (*multiply)(product const&, int, sg::cuda const&);
    outcome (*describe)(planned_shape const&, int, sg::cuda const&, std::string&);
};
template <class T, class C = T>
constexpr pair pair_for{kind_of<T>, kind_of<C>, multiply_there<T, C>, describe_there<T, C>};
constexpr pair pairs[] = {pair_for<double>,
                          pair_for<float>,
                          pair_for<std::complex<float>>,
                          pair_for<std::complex<double>>,
                          pair_for<sg::half>,
                          pair_for<sg::bfloat16>,
                          pair_for<std::int8_t, std::int32_t>};
pair const* pair_of(kind a, kind c) {
    for (pair const& one : pairs)
        if (one.a == a && one.c == c) return &one;
    return nullptr;
}
outcome refuse_pair(kind a, kind c) {
    return refuse_types(std::string("gemm: on CUDA devices there is no product of ") + facts(a).name +
                        " into " + facts(c).name);
}

} // namespace

std::span<char const* const> device_policies() { return names; }

outcome multiply_on_device(product const& p, int policy, dlpack::stream const& stream) {
    if (p.with) return refuse_types("gemm: operands that are more than an array are on the host here");
    kind const t = p.a->type, c = p.c->type;
    pair const* const found = p.b->type == t && (!p.e || p.e->type == c) ? pair_of(t, c) : nullptr;
    if (!found) return refuse_pair(t, c);
    return found->multiply(p, policy, device_at(p.c->device, stream));
}
outcome describe_on_device(planned_shape const& s, int device, int policy, std::string& text) {
    pair const* const found = pair_of(s.a_type, s.c_type);
    if (!found) return refuse_pair(s.a_type, s.c_type);
    return found->describe(s, policy, device_at(device, {}), text);
}

sg::result<std::shared_ptr<void>> device_memory(int device, dlpack::stream const& stream, std::size_t bytes) {
    auto arena = device_at(device, stream).reserve({.device = bytes > 0 ? bytes : 1});
    if (!arena) return arena.take_status();
    auto kept = std::make_shared<sg::cuda::arena>(std::move(*arena));
    auto const first = kept->take<std::byte>(static_cast<index_t>(bytes > 0 ? bytes : 1));
    return std::shared_ptr<void>(kept, first.address);
}
sg::status order_streams(int device, dlpack::stream const& earlier, dlpack::stream const& later) {
    if (earlier.number == later.number) return {};
    auto const event = device_at(device, earlier).leaf().record();
    if (!event) return sg::failure(sg::errc::native, event.error().what());
    auto const queue = device_at(device, later).leaf();
    return queue.wait(*const_cast<sg::result<sg::cuda_event>&>(event));
}

} // namespace stratagemm_python
