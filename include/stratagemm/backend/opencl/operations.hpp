// The leaf of every policy whose operands are in OpenCL memory: operations on sub-views, queued.
#pragma once

#include "queue.hpp"
#include "source.hpp"

STRATAGEMM_BEGIN

// How kernels take a matrix: where it begins, its strides, and the stride of the batch.
template <class T>
cl_long4 opencl_place(opencl_view<T> const& v, index step = 0) {
    return {{v.data.offset, v.row_stride, v.col_stride, step}};
}
// Whether the rows of a matrix have the smaller stride, so that neighbours should follow them.
template <class T>
bool opencl_turned(opencl_view<T> const& v) {
    return magnitude(v.row_stride) < magnitude(v.col_stride);
}

class opencl_operations : public opencl_queue {
public:
    using opencl_queue::opencl_queue;

    template <class From, class To>
    requires(complex_like<std::remove_cv_t<From>> == complex_like<To>) status
        copy(opencl_view<From> from, opencl_view<To> to)
    const {
        using In = std::remove_cv_t<From>;
        return elementwise<In, To>(opencl_operation::copy, "copy", to, nothing<In>(), {from.data.buffer},
                                   [&](opencl_call& call, bool turned) {
                                       call(from.data.buffer, place_of(from, turned), from.scale,
                                            cl_int{from.conjugate});
                                   });
    }

    template <class X, class Y, class To>
    requires(std::same_as<std::remove_cv_t<X>, std::remove_cv_t<Y>>&& complex_like<std::remove_cv_t<X>> ==
             complex_like<To>) status add(opencl_view<X> x, opencl_view<Y> y, opencl_view<To> to)
    const {
        using In = std::remove_cv_t<X>;
        return elementwise<In, To>(opencl_operation::add, "add", to, nothing<In>(),
                                   {x.data.buffer, y.data.buffer}, [&](opencl_call& call, bool turned) {
                                       call(x.data.buffer, place_of(x, turned), x.scale, cl_int{x.conjugate});
                                       call(y.data.buffer, place_of(y, turned), y.scale, cl_int{y.conjugate});
                                   });
    }

    template <class To>
    status fill(opencl_view<To> to, To value) const {
        return elementwise<To, To>(
            opencl_operation::fill, "fill", to, nothing<To>(), {}, [](opencl_call&, bool) {},
            [&](opencl_call& call, bool) { call(static_cast<accumulator_t<To>>(value)); });
    }

    template <class F, class To>
    requires has_source<F, opencl_epilogue<accumulator_t<To>>> status apply(F const& f, opencl_view<To> to,
                                                                            index row0, index col0)
    const {
        return elementwise<To, To>(
            opencl_operation::apply, "apply", to, opencl_epilogue<accumulator_t<To>>(f), {},
            [](opencl_call&, bool) {},
            [&](opencl_call& call, bool turned) {
                call(cl_int{turned}, cl_long2{{row0, col0}});
            });
    }

    // The same device, and a queue of its own, in no order with this one but by events.
    result<opencl_operations> fork() const {
        auto session = session_->fork();
        if (!session) return session.take_status();
        return opencl_operations(std::move(*session));
    }

    // See core/leaf.hpp. Host memory that lies as the device's does is read, or written, until the queue has done it;
    // other, when this returns.
    template <class From, class To>
    requires std::same_as<std::remove_const_t<From>, To> status copy_async(view<From> from,
                                                                           opencl_view<To> to)
    const { return send_block(*this, from, to); }
    template <class From, class To>
    requires std::same_as<std::remove_const_t<From>, To> status copy_async(opencl_view<From> from,
                                                                           view<To> to)
    const { return fetch_block(*this, from, to); }

private:
    struct no_arguments { // no lambda: nvcc finds none in a default
        void operator()(opencl_call&, bool) const {}
    };
    template <class T>
    static opencl_epilogue<accumulator_t<T>> nothing() {
        return opencl_epilogue<accumulator_t<T>>(identity{});
    }
    template <class T>
    static cl_long4 place_of(opencl_view<T> const& v, bool turned) {
        return opencl_place(turned ? transposed(v) : v);
    }

    // One work-item for each element of `to`, along its smaller stride first. The arguments are what `before`
    // gives, `to`, what `after` gives, the sides, and the state of the epilogue.
    template <class In, class To, class Before, class After = no_arguments>
    status elementwise(opencl_operation operation, char const* kernel, opencl_view<To> to,
                       opencl_epilogue<accumulator_t<To>> const& epilogue,
                       std::initializer_list<cl_mem> sources, Before&& before, After&& after = {}) const {
        if (status s = session_->check_buffers(to.data.buffer); !s) return s;
        for (cl_mem const source : sources)
            if (status s = session_->check_buffers(source); !s) return s;
        if (to.rows == 0 || to.cols == 0) return {};
        bool const turned = opencl_turned(to);
        opencl_view<To> const across = turned ? transposed(to) : to;
        if (across.rows > opencl_longest || across.cols > opencl_longest)
            return error(errc::unsupported, "opencl", "a side is longer than 2^31 - 1; work on blocks");
        auto compiled = session_->kernel(
            {operation, {type_letter<In>(), type_letter<To>()}, {}, {}, epilogue.text()},
            [&] { return opencl_source_of<In, To>(kernel, opencl_elementwise_text, epilogue); });
        if (!compiled) return compiled.take_status();
        auto const groups = [](index side, index items) {
            return static_cast<std::size_t>((side + items - 1) / items);
        };
        return session_->launch(
            **compiled, {{groups(across.cols, 32), groups(across.rows, 8), 1}, {32, 8, 1}},
            [&](opencl_call& call) {
                before(call, turned);
                call(to.data.buffer, opencl_place(across));
                after(call, turned);
                call(cl_int2{{static_cast<cl_int>(across.cols), static_cast<cl_int>(across.rows)}});
                epilogue.pass(call);
            });
    }
};

STRATAGEMM_END
