// The leaf of every policy whose operands are in CUDA memory: operations on sub-views, queued.
#pragma once

#include "queue.hpp"
#include "source.hpp"

STRATAGEMM_BEGIN

class cuda_operations : public cuda_queue {
public:
    using cuda_queue::cuda_queue;

    template <class From, class To>
    requires(complex_like<std::remove_cv_t<From>> == complex_like<To>) status
        copy(cuda_view<From> from, cuda_view<To> to)
    const {
        using In = std::remove_cv_t<From>;
        return elementwise<In, To>(cuda_operation::copy, "copy", to, nothing<In>(),
                                   [&](auto& p) { pass(from, p.x, p.x_scale, p.x_conjugated, p.turned); });
    }

    template <class X, class Y, class To>
    requires(std::same_as<std::remove_cv_t<X>, std::remove_cv_t<Y>>&& complex_like<std::remove_cv_t<X>> ==
             complex_like<To>) status add(cuda_view<X> x, cuda_view<Y> y, cuda_view<To> to)
    const {
        using In = std::remove_cv_t<X>;
        return elementwise<In, To>(cuda_operation::add, "add", to, nothing<In>(), [&](auto& p) {
            pass(x, p.x, p.x_scale, p.x_conjugated, p.turned);
            pass(y, p.y, p.y_scale, p.y_conjugated, p.turned);
        });
    }

    template <class To>
    status fill(cuda_view<To> to, To value) const {
        return elementwise<To, To>(cuda_operation::fill, "fill", to, nothing<To>(),
                                   [&](auto& p) { p.x_scale = static_cast<accumulator_t<To>>(value); });
    }

    template <class F, class To>
    requires has_source<F, cuda_epilogue<accumulator_t<To>>> status apply(F const& f, cuda_view<To> to,
                                                                          index row0, index col0)
    const {
        return elementwise<To, To>(cuda_operation::apply, "apply", to, cuda_epilogue<accumulator_t<To>>(f),
                                   [&](auto& p) { p.row0 = row0, p.col0 = col0; });
    }

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

    template <class T>
    static cuda_epilogue<accumulator_t<T>> nothing() {
        return cuda_epilogue<accumulator_t<T>>(identity{});
    }
    template <class T, class Scalar>
    static void pass(cuda_view<T> const& v, cuda_operand& to, Scalar& scale, int& conjugated, int turned) {
        to = cuda_place(turned ? transposed(v) : v);
        scale = v.scale, conjugated = v.conjugate;
    }

    // One thread for each element of `to`, along its smaller stride first. fill(arguments) adds the sources.
    template <class In, class To, class Epilogue, class Fill>
    status elementwise(cuda_operation operation, char const* kernel, cuda_view<To> to,
                       Epilogue const& epilogue, Fill&& fill) const {
        if (status s = session_->ready(); !s) return s;
        if (to.rows == 0 || to.cols == 0) return {};
        if (!epilogue.fits())
            return error(errc::unsupported, "cuda",
                         "an epilogue has more than 255 bytes of state; use fewer steps");
        cuda_elementwise_arguments<accumulator_t<In>> p;
        p.turned = cuda_turned(to);
        cuda_view<To> const across = p.turned ? transposed(to) : to;
        index const blocks = ((across.cols - 1) / 32 + 1) * ((across.rows - 1) / 8 + 1);
        if (across.rows > cuda_longest || across.cols > cuda_longest || blocks > cuda_longest)
            return error(errc::unsupported, "cuda", "a matrix is too large for one launch; work on blocks");
        p.to = cuda_place(across);
        p.rows = static_cast<int>(across.rows), p.cols = static_cast<int>(across.cols);
        fill(p);
        auto compiled =
            session_->kernel({operation, {type_letter<In>(), type_letter<To>()}, {}, {}, epilogue.text()},
                             [&] { return cuda_source_of<In, To>(kernel, cuda_elementwise_text, epilogue); });
        if (!compiled) return compiled.take_status();
        return session_->launch(stream_, **compiled, {static_cast<unsigned>(blocks), 256}, p,
                                epilogue.bytes());
    }
};

STRATAGEMM_END
