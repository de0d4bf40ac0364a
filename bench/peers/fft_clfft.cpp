// clFFT. A program has one plan at a time.
#include "fft_device.hpp"

#include <clFFT.h>

namespace bench {
namespace {

struct plan {
    clfftPlanHandle handle = 0;
    cl_command_queue queue = nullptr;
};

void* prepare(fft_device_problem const& p, void*, void*) {
    clfftSetupData data;
    if (clfftInitSetupData(&data) != CLFFT_SUCCESS || clfftSetup(&data) != CLFFT_SUCCESS) return nullptr;
    auto const points = static_cast<size_t>(p.points), frequencies = p.real ? points / 2 + 1 : points;
    plan made{0, static_cast<cl_command_queue>(p.queue)};
    if (clfftCreateDefaultPlan(&made.handle, static_cast<cl_context>(p.context), CLFFT_1D, &points) !=
        CLFFT_SUCCESS)
        return nullptr;
    bool const fits =
        clfftSetPlanPrecision(made.handle, p.wide ? CLFFT_DOUBLE : CLFFT_SINGLE) == CLFFT_SUCCESS &&
        clfftSetLayout(made.handle, p.real ? CLFFT_REAL : CLFFT_COMPLEX_INTERLEAVED,
                       p.real ? CLFFT_HERMITIAN_INTERLEAVED : CLFFT_COMPLEX_INTERLEAVED) == CLFFT_SUCCESS &&
        clfftSetResultLocation(made.handle, CLFFT_OUTOFPLACE) == CLFFT_SUCCESS &&
        clfftSetPlanBatchSize(made.handle, static_cast<size_t>(p.count)) == CLFFT_SUCCESS &&
        clfftSetPlanDistance(made.handle, points, frequencies) == CLFFT_SUCCESS &&
        clfftBakePlan(made.handle, 1, &made.queue, nullptr, nullptr) == CLFFT_SUCCESS;
    if (fits) return new plan(made);
    clfftDestroyPlan(&made.handle);
    return nullptr;
}
bool run(fft_device_problem const&, void* there, void* x, void* y) {
    auto* const made = static_cast<plan*>(there);
    cl_mem from = static_cast<cl_mem>(x), to = static_cast<cl_mem>(y);
    return clfftEnqueueTransform(made->handle, CLFFT_FORWARD, 1, &made->queue, 0, nullptr, nullptr, &from,
                                 &to, nullptr) == CLFFT_SUCCESS;
}
void release(void* there) {
    auto* const made = static_cast<plan*>(there);
    clfftDestroyPlan(&made->handle);
    clfftTeardown();
    delete made;
}

} // namespace

extern fft_device_peer const fft_clfft{"clFFT", prepare, run, release};

} // namespace bench
