// OpenCL devices: kernels compiled when they are first needed, kept in memory and on disk, queued in order.
//
//   sg::opencl gpu;                                   the first GPU, else whatever device there is
//   sg::opencl gpu{sg::opencl::find("RX 590")};       by a part of its name, or by type
//   sg::opencl gpu{queue};                            a cl_command_queue of your own, and its context
//   sg::opencl::matrix<float> a(gpu, host_a), c(gpu, m, n);
//   sg::gemm(gpu, a, b, c);                           returns when it is queued
//   c.download(host_c);                               waits
//
// Programs that include this link with the OpenCL loader (-lOpenCL). A policy is a reference to a queue: copies
// share it and its kernels. Products are queued and not waited for; an event is to be had from a marker on
// queue(). On a queue that is out of order each command begins with a barrier.
#pragma once

#include "../gemm.hpp"
#include "opencl/matrix.hpp"
#include "opencl/operations.hpp"

STRATAGEMM_BEGIN

class opencl {
public:
    using space = opencl_memory;
    using arena = opencl_arena;
    using device = opencl_device;

    // Every device of every platform.
    static std::vector<device> devices() { return opencl_devices(); }

    // The first device of a type whose name, vendor or platform has `text` in it.
    static device find(std::string_view text, cl_device_type type = CL_DEVICE_TYPE_ALL) {
        std::string seen;
        for (device const& d : devices()) {
            if ((d.type & type) &&
                (d.name + '\n' + d.vendor + '\n' + d.platform_name).find(text) != std::string::npos)
                return d;
            seen += (seen.empty() ? "" : ", ") + d.name;
        }
        throw error(errc::unsupported, "opencl",
                    ("CL_DEVICE_NOT_FOUND: no device is called '" + std::string(text) +
                     "'; there is: " + (seen.empty() ? "none (install an OpenCL driver)" : seen))
                        .c_str(),
                    CL_DEVICE_NOT_FOUND);
    }

    // The first GPU, else the first device. All policies made so share one queue.
    opencl() : session_(shared_session()) {}
    explicit opencl(device const& d) : session_(std::make_shared<opencl_session>(d)) {}
    explicit opencl(cl_command_queue queue) : session_(std::make_shared<opencl_session>(queue)) {}

    // Row-major unless told; see opencl/matrix.hpp.
    template <element T>
    class matrix : public opencl_matrix<T> {
    public:
        matrix() = default;
        template <class... Arguments>
        explicit matrix(opencl const& policy, Arguments&&... arguments)
            : opencl_matrix<T>(policy.session_, static_cast<Arguments&&>(arguments)...) {}
    };

    cl_command_queue queue() const { return session_->queue(); }
    cl_context context() const { return session_->context(); }
    device const& where() const { return session_->device(); }
    // Why no product can run; success if one can.
    status ready() const { return session_->ready(); }
    status synchronize() const { return session_->synchronize(); }

    // C in the accumulator's type, or, for 16-bit operands, in their own; epilogues that have a device source.
    template <class P>
    static constexpr bool accepts =
        std::is_same_v<typename P::a_type, typename P::b_type>&& element<typename P::a_type> &&
        !std::is_same_v<typename P::a_type, std::int32_t> &&
        (std::is_same_v<typename P::c_type, accumulator_t<typename P::a_type>> ||
         (std::is_same_v<typename P::c_type, typename P::a_type> && sizeof(typename P::a_type) == 2)) &&
        opencl_epilogue_for<typename P::epilogue_type, typename P::scalar>;

    opencl_operations leaf() const { return opencl_operations(session_); }

    result<arena> reserve(footprint f) const {
        if (status s = session_->ready(); !s) return result<arena>(std::move(s));
        if (f.device == 0) return arena{};
        auto buffer = session_->allocate(f.device);
        if (!buffer) return buffer.take_status();
        return arena({*buffer, 0}, f.device,
                     [](opencl_pointer<std::byte> p, std::size_t) { clReleaseMemObject(p.buffer); });
    }

    template <class S>
    footprint workspace(S const&) const {
        return {};
    }

    // Each element is one sum in order.
    template <class S>
    bound error_bound(S const& s) const {
        using TA = typename S::a_type;
        if constexpr (std::is_integral_v<accumulator_t<TA>>) {
            return {};
        } else {
            double const u = unit_roundoff<accumulator_t<TA>>(), out = unit_roundoff<typename S::c_type>();
            double const last = sizeof(typename S::c_type) < sizeof(accumulator_t<TA>) ? out : 0;
            double const spread = complex_like<TA> ? 1.5 : 1;
            auto const length = static_cast<double>(s.k);
            return {spread * 1.01 * (length + 4) * u + last,
                    spread * (3 + 2 * __builtin_sqrt(length)) * u + last};
        }
    }

    template <class S>
    std::string describe(S const&) const {
        return "opencl: " + where().name + ", " + type_name<typename S::a_type>() + ", direct";
    }

    template <class Problem>
    status operator()(Problem const& p, arena&) const {
        if (status s = session_->check_buffers(p.a.data.buffer, p.b.data.buffer, p.c.data.buffer); !s)
            return s;
        if (p.beta != typename Problem::scalar(0))
            if (status s = session_->check_buffers(p.e.data.buffer); !s) return s;
        if (p.c.rows > opencl_longest || p.c.cols > opencl_longest || p.a.cols > opencl_longest ||
            p.count > opencl_longest)
            return error(errc::unsupported, "opencl", "a side is longer than 2^31 - 1; multiply blocks");
        opencl_epilogue<typename Problem::scalar> const epilogue(p.epilogue);
        if (!epilogue.fits())
            return error(errc::unsupported, "opencl", "an epilogue has more than 16 values; use fewer steps");
        return multiply_directly(p, epilogue);
    }

private:
    static std::shared_ptr<opencl_session> shared_session() {
        // Never destroyed: drivers may be gone by the time that destructors of globals run.
        static auto* const shared = new std::shared_ptr<opencl_session>([] {
            auto const all = devices();
            if (all.empty())
                return std::make_shared<opencl_session>(
                    error(errc::unsupported, "opencl",
                          "CL_DEVICE_NOT_FOUND: no platform has a device; install an OpenCL driver "
                          "(pocl-opencl-icd is one for CPUs)",
                          CL_DEVICE_NOT_FOUND));
            for (device const& d : all)
                if (d.type & CL_DEVICE_TYPE_GPU) return std::make_shared<opencl_session>(d);
            return std::make_shared<opencl_session>(all.front());
        }());
        return *shared;
    }

    // The product with the columns of C along its smaller stride: C^T = B^T A^T where that are its rows.
    template <class Problem>
    static Problem turned(Problem const& p) {
        Problem t = p;
        t.a = transposed(p.b), t.b = transposed(p.a), t.c = transposed(p.c), t.e = transposed(p.e);
        t.a_step = p.b_step, t.b_step = p.a_step;
        return t;
    }

    template <class Problem, class Epilogue>
    status multiply_directly(Problem const& given, Epilogue const& epilogue) const {
        using In = typename Problem::a_type;
        using Out = typename Problem::c_type;
        bool const turn = opencl_turned(given.c);
        Problem const p = turn ? turned(given) : given;
        auto compiled =
            session_->kernel({'d', {opencl_letter<In>(), opencl_letter<Out>()}, {}, epilogue.text()}, [&] {
                return opencl_source_of<In, Out>("direct", stratagemm_opencl_direct, epilogue);
            });
        if (!compiled) return compiled.take_status();
        auto const elements = static_cast<std::size_t>(p.c.rows * p.c.cols * p.count);
        return session_->launch(**compiled, {{(elements + 63) / 64, 1, 1}, {64, 1, 1}},
                                [&](opencl_call& call) {
                                    pass_operands(call, p);
                                    pass_result(call, p, turn, epilogue);
                                });
    }

    template <class Problem>
    static void pass_operands(opencl_call& call, Problem const& p) {
        auto const side = [](index x) { return static_cast<cl_int>(x); };
        call(p.a.data.buffer, opencl_place(p.a, p.a_step), p.b.data.buffer, opencl_place(p.b, p.b_step),
             cl_int4{{side(p.c.rows), side(p.c.cols), side(p.a.cols), side(p.count)}});
    }
    template <class Problem, class Epilogue>
    static void pass_result(opencl_call& call, Problem const& p, bool turn, Epilogue const& epilogue) {
        bool const adds = p.beta != typename Problem::scalar(0);
        cl_int const flags = (p.a.conjugate ? 1 : 0) | (p.b.conjugate ? 2 : 0) | (p.e.conjugate ? 4 : 0) |
                             (adds ? 8 : 0) | (turn ? 16 : 0);
        call(adds ? p.e.data.buffer : p.c.data.buffer, opencl_place(p.e, p.e_step));
        call(p.c.data.buffer, opencl_place(p.c, p.c_step), p.alpha, p.beta, flags,
             cl_long2{{p.row0, p.col0}});
        epilogue.pass(call);
    }

    std::shared_ptr<opencl_session> session_;
};

template <>
struct default_policy<opencl_memory> {
    using type = opencl;
};

STRATAGEMM_END
