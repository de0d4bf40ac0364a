// CLBlast, in the library's queue.
#include "../opencl_machine.hpp"

#include <clblast.h>

#include <cstdio>
#include <stdexcept>

namespace sg = stratagemm;

namespace bench {
namespace {

// A row-major C = A B is a column-major C' = B' A'. CLBlast makes fewer copies for that.
template <class T>
bool multiply_as(cl_command_queue queue, problem const& p, operands const& x) {
    auto const buffer = [](void const* memory) { return static_cast<cl_mem>(const_cast<void*>(memory)); };
    auto const m = std::size_t(p.m), n = std::size_t(p.n), k = std::size_t(p.k);
    auto const op = [](bool transposed) {
        return transposed ? clblast::Transpose::kYes : clblast::Transpose::kNo;
    };
    return clblast::Gemm<T>(clblast::Layout::kColMajor, op(p.b_transposed), op(p.a_transposed), n, m, k, T(1),
                            buffer(x.b), 0, std::size_t(p.ldb()), buffer(x.a), 0, std::size_t(p.lda()), T(0),
                            buffer(x.c), 0, n, &queue, nullptr) == clblast::StatusCode::kSuccess;
}
bool multiply(cl_command_queue queue, problem const& p, operands const& x) {
    return p.type == element::f32 ? multiply_as<float>(queue, p, x) : multiply_as<double>(queue, p, x);
}

class peer final : public contender {
public:
    explicit peer(sg::opencl const& device) : device_(device) {}

    std::string name() const override { return "CLBlast"; }
    std::string version() const override { return "as installed"; } // it does not tell
    bool takes(problem const& p) const override {
        return (p.type == element::f32 || p.type == element::f64) && p.count == 1 && !p.added && !p.relu &&
               p.group.empty();
    }
    void run(problem const& p, operands const& x) override {
        if (!multiply(device_.queue(), p, x)) throw std::runtime_error("CLBlast failed");
    }

private:
    sg::opencl device_;
};

} // namespace

std::unique_ptr<contender> make_clblast(sg::opencl const& device) { return std::make_unique<peer>(device); }

// CLBlast's parameters for float: those that it brings along for the device, which may be for another; then
// the best of 420 that were tried on an H200, drawn from the values that its tuner knows and bettered one by
// one; then, until the time is up, more of that kind. Those that are fastest at 4096 (1024 on a CPU) stay in
// force.
void tune_clblast(sg::opencl const& device, double budget) {
    static constexpr char const* names[] = {"MWG", "NWG", "KWG",  "MDIMC", "NDIMC", "MDIMA", "NDIMB",
                                            "VWM", "VWN", "STRM", "STRN",  "SA",    "SB"};
    sg::index_t const n = device.where().type & CL_DEVICE_TYPE_GPU ? 4096 : 1024;
    sg::opencl::matrix<float> a(device, n, n), b(device, n, n), c(device, n, n);
    device.leaf().fill(a.view(), 1.5f).or_throw();
    device.leaf().fill(b.view(), 0.5f).or_throw();
    operands const x{a.data().buffer, b.data().buffer, c.data().buffer};
    auto const use = [&](sg::search_point const& x) {
        std::unordered_map<std::string, std::size_t> p{{"GEMMK", 0}, {"KREG", 1}, {"KWI", 2}};
        for (std::size_t i = 0; i < x.size(); ++i) p[names[i]] = static_cast<std::size_t>(x[i]);
        return clblast::OverrideParameters(device.where().id, "Xgemm", clblast::Precision::kSingle, p) ==
               clblast::StatusCode::kSuccess;
    };
    auto const now = [] { return std::chrono::steady_clock::now(); };
    auto const timed = [&] {
        double best = -1;
        for (int i = 0; i < 4; ++i) { // the first compiles
            auto const start = now();
            if (!multiply(device.queue(), {element::f32, n, n, n}, x) || !device.synchronize()) return -1.0;
            double const seconds = std::chrono::duration<double>(now() - start).count();
            if (i == 1 || (i > 1 && seconds < best)) best = seconds;
        }
        return best;
    };
    auto const gflops = [&](double seconds) { return 2e-9 * double(n) * double(n) * double(n) / seconds; };

    std::unordered_map<std::string, std::size_t> own;
    if (clblast::RetrieveParameters(device.where().id, "Xgemm", clblast::Precision::kSingle, own) !=
        clblast::StatusCode::kSuccess)
        throw std::runtime_error("CLBlast does not tell its parameters");
    sg::search_point first;
    for (char const* name : names) first.push_back(static_cast<short>(own[name]));
    sg::search_problem p;
    p.known = {first,
               {64, 128, 32, 8, 16, 32, 16, 2, 2, 1, 1, 1, 1},
               {128, 128, 32, 16, 16, 32, 8, 2, 8, 1, 1, 1, 1}};
    p.values = {{32, 64, 128}, {32, 64, 128}, {16, 32}, {8, 16, 32}, {8, 16, 32}, {8, 16, 32}, {8, 16, 32},
                {1, 2, 4, 8},  {1, 2, 4, 8},  {0, 1},   {0, 1},      {0, 1},      {0, 1}};
    p.legal = [&](sg::search_point const& x) {
        int const mwg = x[0], nwg = x[1], kwg = x[2], mdimc = x[3], ndimc = x[4], mdima = x[5], ndimb = x[6],
                  vwm = x[7], vwn = x[8], items = mdimc * ndimc;
        return items >= 64 && items <= static_cast<int>(device.where().work_group) &&
               mwg % (mdimc * vwm) == 0 && nwg % (ndimc * vwn) == 0 && mwg % (mdima * vwm) == 0 &&
               nwg % (ndimb * vwn) == 0 && items % mdima == 0 && items % ndimb == 0 &&
               kwg % (items / mdima) == 0 && kwg % (items / ndimb) == 0 && mwg * nwg <= 128 * items &&
               (x[11] * mwg + x[12] * nwg) * kwg * 4 <= static_cast<int>(device.where().local_bytes);
    };
    auto const end = now() + std::chrono::duration<double>(budget);
    p.more = [&] { return now() < end; };
    double const before = timed();
    p.measure = [&](sg::search_point const& x) { return use(x) ? timed() : -1.0; };
    sg::search_result const found = sg::search(p);
    std::printf("CLBlast at %td: %.0f GFLOP/s with its own parameters, %.0f with the best of %d tried:", n,
                gflops(before), gflops(found.seconds), found.measured);
    for (std::size_t i = 0; i < found.best.size(); ++i) std::printf(" %s=%d", names[i], found.best[i]);
    std::printf("\n");
    if (found.best.empty() || !use(found.best)) throw std::runtime_error("CLBlast could not be tuned");
}

} // namespace bench
