// The leaf of every policy whose operands are in CUDA memory: operations on sub-views, queued.
#pragma once

#include "../../device/elementwise.hpp"
#include "queue.hpp"
#include "source.hpp"

STRATAGEMM_BEGIN

class cuda_operations : public cuda_queue,
                        public elementwise_operations<cuda_operations, cuda_memory, cuda_epilogue> {
public:
    static constexpr char const* layer = "cuda";

    using cuda_queue::cuda_queue;

    // See device_leaf. An argument may also be a complex number, or an epilogue.
    template <class... Arguments>
    status launch(device_kernel const& kernel, index_t groups, Arguments const&... arguments) const {
        status usable = session_->ready();
        ((void)(usable = usable ? check(arguments) : std::move(usable)), ...);
        if (!usable || groups <= 0) return usable;
        if (groups > limits().groups)
            return error(errc::unsupported, "cuda: more than 2^31 - 1 groups in one launch; work on parts");
        auto compiled = session_->kernel({cuda_operation::dialect, {}, {}, {}, dialect_key(kernel)},
                                         [&] { return cuda_source_of(kernel); });
        if (!compiled) return compiled.take_status();
        cuda_grid const grid{static_cast<unsigned>(groups), static_cast<unsigned>(kernel.items), 1, false};
        return session_->launch(stream_, **compiled, grid, argument(arguments)...);
    }
    device_limits limits() const { return {device_longest, true}; }

    // The same device, and a stream of its own, in no order with this one but by events.
    result<cuda_operations> fork() const {
        auto queue = another();
        if (!queue) return queue.take_status();
        return cuda_operations(std::move(*queue));
    }

    // See core/leaf.hpp. Host memory that is not pinned is read, or written, when this returns.
    template <class From, class To>
    requires std::same_as<std::remove_const_t<From>, To> status copy_async(view<From> from, cuda_view<To> to)
    const { return send_block(*this, from, to); }
    template <class From, class To>
    requires std::same_as<std::remove_const_t<From>, To> status copy_async(cuda_view<From> from, view<To> to)
    const { return fetch_block(*this, from, to); }

private:
    explicit cuda_operations(cuda_queue queue) : cuda_queue(std::move(queue)) {}

    template <class State>
    static status check(kernel_epilogue<State> const& e) {
        return e.check();
    }
    template <class T>
    static status check(T const&) {
        return {};
    }
    template <class T>
    static T* argument(cuda_pointer<T> p) {
        return p.address;
    }
    template <class State>
    static auto const& argument(kernel_epilogue<State> const& e) {
        return e.bytes();
    }
    template <class T>
    static T const& argument(T const& x) {
        return x;
    }
};

STRATAGEMM_END
