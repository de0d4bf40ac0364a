// Where the time of an algorithm over the CUDA backend goes: a backend that records two events around each kernel and
// each copy that the algorithm asks for, and around each product that it gives to the backend. Waits of the host and
// what it does in between is what the named phases leave of the whole.
#pragma once

#include <stratagemm/backend/cuda.hpp>

#include <dlfcn.h>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

class phase_log {
public:
    explicit phase_log(stratagemm::cuda const& device) : device_(device) {
        void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
        elapsed_ = reinterpret_cast<elapsed>(driver ? dlsym(driver, "cuEventElapsedTime") : nullptr);
        if (!elapsed_) throw std::runtime_error("the driver has no cuEventElapsedTime");
    }
    phase_log(phase_log const&) = delete;
    phase_log& operator=(phase_log const&) = delete;
    ~phase_log() {
        auto const in = stratagemm::cuda_session::of(device_.device).enter();
        for (CUevent const e : events_) (void)stratagemm::cuda_driver::get().cuEventDestroy(e);
    }

    // f(), which queues work, as a part of the phase.
    template <class F>
    auto during(std::string phase, F const& f) {
        CUevent const begin = record();
        auto done = f();
        spans_.push_back({std::move(phase), begin, record()});
        return done;
    }

    // Seconds of each phase and how often there was a part of it, once the device is done; and forgets them.
    struct share {
        double seconds = 0;
        int times = 0;
    };
    std::map<std::string, share> take() {
        device_.synchronize().or_throw();
        auto const in = stratagemm::cuda_session::of(device_.device).enter();
        std::map<std::string, share> all;
        for (span const& s : spans_) {
            float milliseconds = 0;
            if (elapsed_(&milliseconds, s.begin, s.end) != 0)
                throw std::runtime_error("cuEventElapsedTime failed");
            all[s.phase].seconds += double(milliseconds) * 1e-3, ++all[s.phase].times;
        }
        spans_.clear(), used_ = 0;
        return all;
    }

private:
    struct span {
        std::string phase;
        CUevent begin, end;
    };
    using elapsed = int (*)(float*, CUevent, CUevent);

    CUevent record() {
        auto const in = stratagemm::cuda_session::of(device_.device).enter();
        if (used_ == events_.size()) {
            CUevent made = nullptr;
            if (stratagemm::cuda_driver::get().cuEventCreate(&made, 0) != CUDA_SUCCESS)
                throw std::runtime_error("cuEventCreate failed");
            events_.push_back(made);
        }
        CUevent const e = events_[used_++];
        if (stratagemm::cuda_driver::get().cuEventRecord(e, device_.stream) != CUDA_SUCCESS)
            throw std::runtime_error("cuEventRecord failed");
        return e;
    }

    stratagemm::cuda device_;
    elapsed elapsed_ = nullptr;
    std::vector<CUevent> events_;
    std::vector<span> spans_;
    std::size_t used_ = 0;
};

// The device's leaf; kernels go by their names.
class timed_operations : public stratagemm::cuda_operations {
public:
    timed_operations(stratagemm::cuda_operations const& on, phase_log& log)
        : stratagemm::cuda_operations(on), log_(&log) {}

    template <class... Arguments>
    stratagemm::status launch(stratagemm::device_kernel const& kernel, stratagemm::index_t groups,
                              Arguments const&... arguments) const {
        return log_->during(kernel.name,
                            [&] { return cuda_operations::launch(kernel, groups, arguments...); });
    }
    template <class... Arguments>
    stratagemm::status fill(Arguments const&... arguments) const {
        return log_->during("fill", [&] { return cuda_operations::fill(arguments...); });
    }
    template <class... Arguments>
    stratagemm::status upload(Arguments const&... arguments) const {
        return log_->during("copies of tables", [&] { return cuda_operations::upload(arguments...); });
    }
    template <class... Arguments>
    stratagemm::status download(Arguments&&... arguments) const {
        return log_->during("copies of tables", [&] { return cuda_operations::download(arguments...); });
    }

private:
    phase_log* log_;
};

// The device, whose own products of wide types are estimated to take for ever.
struct timed_cuda : stratagemm::cuda {
    phase_log* log;

    explicit timed_cuda(stratagemm::cuda const& on, phase_log& to) : stratagemm::cuda(on), log(&to) {}

    timed_operations leaf() const { return {stratagemm::cuda::leaf(), *log}; }
    template <class S>
    double estimate(S const& s) const {
        return sizeof(typename S::a_type) > 2 ? std::numeric_limits<double>::infinity()
                                              : stratagemm::cuda::estimate(s);
    }
    template <class P>
    stratagemm::status operator()(P const& p, arena& memory) const {
        return log->during(std::string("products of ") + stratagemm::type_name<typename P::a_type>(),
                           [&] { return stratagemm::cuda::operator()(p, memory); });
    }
};

} // namespace bench
