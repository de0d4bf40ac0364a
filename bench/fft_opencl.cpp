// bench_fft_opencl: transforms by OpenCL against VkFFT and clFFT, where they are installed, and beside a copy of as many
// bytes. fft.hpp says what its cases, counters and flags are; times are those of the host's clock until the queue is
// empty.
#include "fft_device.hpp"

#include <stratagemm/backend/opencl.hpp>

#include <stdexcept>

namespace {

using namespace bench;

struct opencl_machine {
    sg::opencl gpu{};
    double least_bytes = 128e6;

    bool is_cpu() const { return gpu.where().type & CL_DEVICE_TYPE_CPU; }
    bool takes(fft_case const& c) const {
        return (!is_cpu() || c.bytes() < 1 << 26) && (!c.wide || gpu.where().has_double);
    }
    std::vector<fft_device_peer const*> peers() const {
        std::vector<fft_device_peer const*> all;
#ifdef STRATAGEMM_BENCH_VKFFT
        all.push_back(&fft_vkfft);
#endif
#ifdef STRATAGEMM_BENCH_CLFFT
        all.push_back(&fft_clfft);
#endif
        return all;
    }
    fft_device_problem about(fft_case const& c) const {
        cl_context context = nullptr;
        clGetCommandQueueInfo(gpu.queue(), CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
        return {c.points, c.count, c.wide, c.real, gpu.where().id, context, gpu.queue()};
    }
    template <class M>
    void* handle(M& matrix) const {
        return matrix.data().buffer;
    }
    void wait() const { gpu.synchronize().or_throw(); }
    static constexpr bool copies() { return true; }
    template <class X, class Y>
    void copy(X& x, Y& y, std::size_t bytes) const {
        if (clEnqueueCopyBuffer(gpu.queue(), x.data().buffer, y.data().buffer, 0, 0, bytes, 0, nullptr,
                                nullptr) != CL_SUCCESS)
            throw std::runtime_error("clEnqueueCopyBuffer failed");
    }
    template <class Call>
    std::vector<fft_way> ways(fft_way way, Call const& call, long sets) const {
        way.calls = sets;
        way.run = [this, call, sets](long times) {
            for (long t = 0; t < times; ++t)
                for (long i = 0; i < sets; ++i) call(i);
            wait();
        };
        return {std::move(way)};
    }
};

} // namespace

int main(int argc, char** argv) {
    opencl_machine on;
    std::vector<std::string> about;
    std::string const missing = missing_on(on.gpu);
    if (missing.empty()) {
        about.push_back("device: " + on.gpu.where().name + ", driver " + on.gpu.where().driver);
        std::string names = "peers:";
        for (auto const* const peer : on.peers()) names += std::string(" ") + peer->name;
        about.push_back(names);
        if (on.is_cpu()) on.least_bytes = 0;
    }
    fft_table table(std::move(about));
    return run_ffts(
        argc, argv, fft_device_cases(), table, missing,
        [&](benchmark::State& state, fft_case const& c) { run_case(state, table, c, on.gpu, on); });
}
