// Products on CUDA devices, queued on a stream.
#include "../device_policies.hpp"
#include "cuda_side.hpp"

namespace stratagemm_python {
namespace {

using stratagemm_bindings::device_policy;
constexpr auto& names = stratagemm_bindings::device_policy_names;

// f(policy)
template <class F>
outcome with_policy(int number, sg::cuda const& gpu, F const& f) {
    return stratagemm_bindings::with_device_policy(device_policy{number}, gpu, f);
}

constexpr auto place = [](auto const& x) { return sg::cuda::on_device(x); };

template <class T, class C>
outcome refuse_policy(int policy) {
    return refuse_types(std::string("gemm: the policy ") + names[policy] + " multiplies no " +
                        facts(kind_of<T>).name + " into " + facts(kind_of<C>).name);
}

template <class T, class C>
outcome multiply_there(product const& p, int policy, sg::cuda const& gpu) {
    using S = sg::accumulator_t<T>;
    using Problem = sg::dense_problem<T, T, C, sg::cuda_memory, steps<S, sg::cuda_pointer<S const>>>;
    if (outcome o = check_scalars<S>(p); !o.status) return o;
    batch_dimensions batch;
    if (sg::status s = batch.find(p); !s) return {std::move(s)};
    device_steps<S> epilogue(p);
    if (outcome o = epilogue.failed(); !o.status) return o;
    return with_policy(policy, gpu, [&](auto const& chosen) -> outcome {
        if constexpr (!sg::takes<std::remove_cvref_t<decltype(chosen)>, Problem>)
            return refuse_policy<T, C>(policy);
        sg::status failed;
        batch.each_outer(p, [&](product const& part) {
            if (!failed) return;
            if constexpr (sg::takes<std::remove_cvref_t<decltype(chosen)>, Problem>)
                failed = sg::run(chosen, stated_dense<T, C>(part, batch, epilogue.value, place));
        });
        return {std::move(failed)};
    });
}
// A plan whose workspace belongs to the stream of the last run. Another stream gets workspace of its own, and waits: a
// plan runs one product after another.
template <class Policy, class T, class C>
class plan_there final : public plan {
    using shape_type = sg::shape<T, T, C>;
    using S = sg::accumulator_t<T>;

public:
    plan_there(Policy const& policy, int number, shape_type const& s)
        : plan_(policy, s), shape_(s), number_(number) {}
    std::string describe() const override { return plan_.describe(); }
    sg::footprint workspace() const override { return plan_.workspace(); }
    sg::bound error_bound() const override { return plan_.error_bound(); }
    double estimate() const override { return plan_.estimate(); }
    outcome run(product const& p) override {
        if (outcome o = check_scalars<S>(p); !o.status) return o;
        batch_dimensions batch;
        if (sg::status s = batch.find(p); !s) return {std::move(s)};
        if (batch.count > 1)
            return {sg::failure(sg::errc::shape, "plan",
                                "the matrices of a batch have to be the same distance apart")};
        device_steps<S> const epilogue(p);
        if (outcome o = epilogue.failed(); !o.status) return o;
        if (!arena_ || on_.number != p.on.number)
            if (sg::status s = move_to(p.on); !s) return {std::move(s)};
        return {plan_.try_run(stated_dense<T, C>(p, batch, epilogue.value, place), *arena_)};
    }

private:
    sg::status move_to(dlpack::stream const& stream) {
        if (arena_)
            if (sg::status s = order_streams(this->shape.device, on_, stream); !s) return s;
        return with_policy(number_, device_at(this->shape.device, stream),
                           [&](auto const& policy) -> outcome {
                               if constexpr (std::is_same_v<std::remove_cvref_t<decltype(policy)>, Policy>) {
                                   auto made = policy.reserve(plan_.workspace());
                                   if (!made) return {made.take_status()};
                                   plan_ = sg::plan<Policy, shape_type>(policy, shape_);
                                   arena_ = std::make_unique<typename Policy::arena>(std::move(*made)),
                                   on_ = stream;
                               }
                               return {};
                           })
            .status;
    }

    sg::plan<Policy, shape_type> plan_;
    shape_type shape_;
    int number_;
    dlpack::stream on_; // which outlives the workspace
    std::unique_ptr<typename Policy::arena> arena_;
};
template <class T, class C>
made_plan plan_of_types(planned_shape const& s, sg::cuda const& gpu) {
    made_plan made;
    made.error = with_policy(s.device_policy, gpu, [&](auto const& chosen) -> outcome {
        using Policy = std::remove_cvref_t<decltype(chosen)>;
        if constexpr (sg::takes<Policy, sg::dense_problem<T, T, C, sg::cuda_memory>>) {
            if (sg::status ready = gpu.ready(); !ready) return {std::move(ready)};
            sg::shape<T, T, C> shape;
            shape.m = s.m, shape.n = s.n, shape.k = s.k, shape.count = s.count, shape.adds = s.adds;
            made.what = std::make_unique<plan_there<Policy, T, C>>(chosen, s.device_policy, shape);
            return {};
        } else {
            return refuse_policy<T, C>(s.device_policy);
        }
    });
    return made;
}

struct pair {
    kind a, c;
    outcome (*multiply)(product const&, int, sg::cuda const&);
    made_plan (*plan)(planned_shape const&, sg::cuda const&);
};
template <class T, class C = T>
constexpr pair pair_for{kind_of<T>, kind_of<C>, multiply_there<T, C>, plan_of_types<T, C>};
constexpr pair pairs[] = {pair_for<double>,
                          pair_for<float>,
                          pair_for<std::complex<float>>,
                          pair_for<std::complex<double>>,
                          pair_for<sg::half>,
                          pair_for<sg::half, float>,
                          pair_for<sg::bfloat16>,
                          pair_for<sg::bfloat16, float>,
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

outcome multiply_on_device(product const& p, int policy) {
    sg::cuda gpu = device_at(p.c->device, p.on);
    bool const is_invariant = device_policy{policy} == device_policy::invariant,
               is_plain = is_invariant || device_policy{policy} == device_policy::plain;
    if (p.with) {
        if (!is_plain) return refuse_structured_policy(names[policy], names[0]);
        if (sg::status s = order_streams(p.c->device, p.with->on, p.on); !s) return {std::move(s)};
        gpu.invariant = is_invariant;
        return multiply_structured_there(p, gpu);
    }
    kind const a = p.a->type, b = p.b->type, c = p.c->type;
    if (p.e && p.e->type != c) return refuse_pair(a, c);
    if (are_two_types(a, b) && c == kind::float32) {
        if (!is_plain) return refuse_two_types(names[policy], names[0]);
        gpu.invariant = is_invariant;
        return multiply_two_types_there(p, gpu);
    }
    pair const* const found = a == b ? pair_of(a, c) : nullptr;
    if (!found) return refuse_pair(a, c);
    return found->multiply(p, policy, gpu);
}
made_plan make_plan_on_device(planned_shape const& s) {
    pair const* const found = pair_of(s.a_type, s.c_type);
    if (!found) return {nullptr, refuse_pair(s.a_type, s.c_type)};
    made_plan made = found->plan(s, device_at(s.device, {}));
    if (made.what) made.what->shape = s;
    return made;
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
