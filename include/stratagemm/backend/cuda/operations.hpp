// The leaf of every policy whose operands are in CUDA memory: operations on sub-views, queued.
#pragma once

#include "../../device/elementwise.hpp"
#include "source.hpp"

STRATAGEMM_BEGIN

class cuda_operations : public elementwise_operations<cuda_operations, cuda_memory, cuda_epilogue> {
public:
    static constexpr char const* layer = "cuda";

    cuda_operations(cuda_session& session, CUstream stream) : session_(&session), stream_(stream) {}

    // See device_leaf. An argument may also be a complex number, or an epilogue.
    template <class... Arguments>
    status launch(device_kernel const& kernel, index groups, Arguments const&... arguments) const {
        status usable = session_->ready();
        ((void)(usable = usable ? check(arguments) : std::move(usable)), ...);
        if (!usable || groups <= 0) return usable;
        if (groups > limits().groups)
            return error(errc::unsupported, "cuda", "more than 2^31 - 1 groups in one launch; work on parts");
        auto compiled = session_->kernel({cuda_operation::dialect, {}, {}, {}, dialect_key(kernel)},
                                         [&] { return cuda_source_of(kernel); });
        if (!compiled) return compiled.take_status();
        cuda_grid const grid{static_cast<unsigned>(groups), static_cast<unsigned>(kernel.items), 1, false};
        return session_->launch(stream_, **compiled, grid, argument(arguments)...);
    }
    device_limits limits() const { return {device_longest, true}; }

    // Between host memory and the device's; returns when it is done, after all that was queued on the stream before.
    template <class T>
    status upload(T const* from, cuda_pointer<T> to, index count) const {
        return session_->upload(stream_, to.address, from, static_cast<std::size_t>(count) * sizeof(T));
    }
    template <class T>
    status download(cuda_pointer<T> from, std::remove_const_t<T>* to, index count) const {
        return session_->download(stream_, to, from.address, static_cast<std::size_t>(count) * sizeof(T));
    }

    status synchronize() const { return session_->synchronize(stream_); }

private:
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

    cuda_session* session_;
    CUstream stream_;
};

STRATAGEMM_END
