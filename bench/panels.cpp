// Products of matrices whose rows lie on several CUDA devices, against one device, and against cuBLAS on one device, on
// each of several, and over several from the host (cublasXt).
//
//   bench_panels [N = 16384] [double | float] [DEVICES = all] [xt]
//
// It multiplies N x N matrices. The rates of copies come first, beside those that estimates take. Each round measures every
// way once; the program prints medians of the rounds. cuBLAS is opened at run time, and left out where it is not installed.
// cublasXt, with its matrices in pinned memory of the host, takes part only if it is asked for.
#include "cublas_xt.hpp"
#include "free_memory.hpp"
#include "median.hpp"

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/backend/cuda.hpp>
#include <stratagemm/structure/panels.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

namespace sg = stratagemm;
using sg::index_t;

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class F>
void by_threads(index_t parts, F const& f) {
    std::vector<std::thread> all;
    for (index_t t = 0; t < parts; ++t) all.emplace_back([&f, t] { f(t); });
    for (std::thread& t : all) t.join();
}

// cuBLAS on one device.
template <class T>
class cublas_on {
public:
    explicit cublas_on(int device) : device_(device) {
        for (char const* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
            if (!library_) library_ = dlopen(name, RTLD_NOW);
        if (!library_) return;
        auto const in = sg::cuda_session::of(device).enter();
        auto const create = reinterpret_cast<int (*)(void**)>(dlsym(library_, "cublasCreate_v2"));
        product_ =
            reinterpret_cast<product>(dlsym(library_, sizeof(T) == 8 ? "cublasDgemm_v2" : "cublasSgemm_v2"));
        ready_ = create && product_ && create(&handle_) == 0;
    }
    bool ready() const { return ready_; }
    // cuBLAS has matrices by columns, so that it computes C^T = B^T A^T. The product is queued.
    bool multiply(int m, int n, int k, T const* a, T const* b, T* c) const {
        auto const in = sg::cuda_session::of(device_).enter();
        T const one = 1, zero = 0;
        return product_(handle_, 0, 0, n, m, k, &one, b, n, a, k, &zero, c, n) == 0;
    }

private:
    using product = int (*)(void*, int, int, int, int, int, T const*, T const*, int, T const*, int, T const*,
                            T*, int);
    int device_;
    void *library_ = nullptr, *handle_ = nullptr;
    product product_ = nullptr;
    bool ready_ = false;
};

template <class T>
void fill(T* x, index_t count, std::uint64_t seed) {
    constexpr index_t parts = 16;
    by_threads(parts, [=](index_t t) {
        std::uint64_t y = seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(t) * 0xbf58476d1ce4e5b9u;
        for (index_t i = count * t / parts; i < count * (t + 1) / parts; ++i) {
            y = y * 6364136223846793005u + 1442695040888963407u;
            x[i] = static_cast<T>(static_cast<double>(static_cast<std::int64_t>(y)) * 0x1p-63);
        }
    });
}

// The largest error of some elements in units of |A||B| times the unit roundoff.
template <class T>
double error_of(index_t n, T const* a, T const* b, T const* c) {
    long double worst = 0;
    for (index_t x = 0; x < 64; ++x) {
        index_t const i = (x * 7919 + 13) % n, j = (x * 104729 + n - 1) % n;
        long double sum = 0, all = 0;
        for (index_t l = 0; l < n; ++l) {
            auto const p = static_cast<long double>(a[i * n + l]) * static_cast<long double>(b[l * n + j]);
            sum += p, all += p < 0 ? -p : p;
        }
        long double const d = static_cast<long double>(c[i * n + j]) - sum;
        worst = std::max(worst, (d < 0 ? -d : d) / all / static_cast<long double>(sg::unit_roundoff<T>()));
    }
    return static_cast<double>(worst);
}

struct way {
    std::string name;
    std::function<bool()> run;
    std::vector<double> seconds{};
};

bool good(sg::status const& s) {
    if (!s) std::printf("%s\n", s.error().what());
    return static_cast<bool>(s);
}

template <class T, class Policy>
struct operands {
    sg::panels<T, sg::cuda> a, b, c;
    sg::out_of_core<Policy> policy;

    operands(std::vector<sg::cuda> const& devices, std::vector<Policy> const& bases, index_t n)
        : a(devices, n, n), b(devices, n, n), c(devices, n, n), policy(bases) {}
    void fill(T const* x, T const* y, index_t n) {
        a.upload(sg::row_major(x, n, n)), b.upload(sg::row_major(y, n, n));
    }
    bool multiply() { return good(sg::try_gemm(policy, a, b, c)); }
};

// What the product takes of each device, as the driver counts, and as workspace() says.
template <class T, class Policy>
void print_memory(operands<T, Policy>& on, index_t n, int devices) {
    sg::panels_shape<T, sg::cuda> const s{.m = n, .n = n, .k = n};
    auto const plan = sg::plan(on.policy, s);
    std::printf(
        "%s\nestimate %.1f ms; workspace() %.0f MiB; taken, as the driver counts:", plan.describe().c_str(),
        1e3 * plan.estimate(), static_cast<double>(plan.workspace().device) / 0x1p20);
    std::vector<std::size_t> before;
    std::vector<std::unique_ptr<bench::least_free>> watches;
    for (int i = 0; i < devices; ++i) {
        before.push_back(bench::free_memory(i));
        watches.push_back(std::make_unique<bench::least_free>(i));
    }
    (void)on.multiply();
    for (std::size_t i = 0; i < watches.size(); ++i)
        std::printf(" %.0f MiB",
                    static_cast<double>(before[i] - std::min(before[i], watches[i]->stop())) / 0x1p20);
    std::printf("\n");
}

// The rates of copies, and those that estimates take (cuda_rates).
template <class T>
void print_copies(std::vector<sg::cuda> const& gpus, sg::panels<T, sg::cuda> const& from,
                  sg::panels<T, sg::cuda>& to) {
    auto const rate = [](auto const& from_queue, auto const& x, auto const& to_queue, auto const& y) {
        double least = 1e300;
        for (int i = 0; i < 5; ++i) {
            double const begin = now();
            if (!good(sg::copy_between_devices<T>(from_queue, x, to_queue, y)) ||
                !good(to_queue.synchronize()))
                return 0.0;
            least = std::min(least, now() - begin);
        }
        return static_cast<double>(x.rows * x.cols) * sizeof(T) / least / 1e9;
    };
    for (int i = 0; i < to.devices(); ++i)
        for (int j = 0; j < from.devices(); ++j) {
            auto const x = gpus[static_cast<std::size_t>(j)].leaf(),
                       y = gpus[static_cast<std::size_t>(i)].leaf();
            index_t const rows = std::min(from.panel_on(j).rows, to.panel_on(i).rows);
            std::printf("copies from device %d to %d: %.0f GB/s, in estimates %.0f\n", j, i,
                        rate(x, from.panel_on(j).part(0, 0, rows, from.cols()), y,
                             to.panel_on(i).part(0, 0, rows, to.cols())),
                        y.link_from(x) / 1e9);
        }
    auto const first = to.panel_on(0);
    auto room = gpus[0].leaf().pin(static_cast<std::size_t>(first.rows * first.cols) * sizeof(T));
    if (!room) return;
    sg::view<T const> const pinned =
        sg::row_major(reinterpret_cast<T*>(room->data()), first.rows, first.cols);
    double least = 1e300;
    for (int i = 0; i < 5; ++i) {
        double const begin = now();
        if (!good(gpus[0].leaf().copy_async(pinned, first)) || !good(gpus[0].synchronize())) return;
        least = std::min(least, now() - begin);
    }
    std::printf("from pinned memory to device 0: %.0f GB/s, in estimates %.0f\n",
                static_cast<double>(first.rows * first.cols) * sizeof(T) / least / 1e9,
                gpus[0].leaf().limits().link / 1e9);
}

template <class T>
int run(index_t n, int devices, bool with_xt) {
    std::vector<sg::cuda> gpus;
    for (int i = 0; i < devices; ++i) gpus.push_back({.device = i});
    std::printf("%s, driver %d, %d device(s); %td x %td x %td %s\n", gpus[0].where().name.c_str(),
                gpus[0].where().driver, devices, n, n, n, sizeof(T) == 8 ? "double" : "float");
    auto const count = static_cast<std::size_t>(n * n);
    std::unique_ptr<T[]> const a(new T[count]), b(new T[count]), c(new T[count]), d(new T[count]);
    fill(a.get(), n * n, 1), fill(b.get(), n * n, 2);

    operands<T, sg::cuda> all(gpus, gpus, n);
    print_memory(all, n, devices);
    print_copies(gpus, all.a, all.c);
    double const begin_upload = now();
    all.fill(a.get(), b.get(), n);
    std::printf("scattered from pageable memory at %.1f GB/s\n",
                2 * static_cast<double>(count * sizeof(T)) / (now() - begin_upload) / 1e9);
    operands<T, sg::cuda> one({gpus[0]}, std::vector{gpus[0]}, n);
    one.fill(a.get(), b.get(), n);
    // The panels of one device are whole matrices.
    auto const da = one.a.panel_on(0), db = one.b.panel_on(0), dc = one.c.panel_on(0);

    std::vector<way> ways;
    ways.push_back({"one device",
                    [&] { return good(sg::try_gemm(gpus[0], da, db, dc)) && good(gpus[0].synchronize()); }});
    ways.push_back({"panels, one device", [&] { return one.multiply(); }});
    ways.push_back({"panels", [&] { return all.multiply(); }});
    // Columns of B and C on each device, which lie by rows.
    sg::panels_options const by_columns{.order = sg::layout::col_major};
    sg::panels<T, sg::cuda> bt(gpus, n, n, by_columns), ct(gpus, n, n, by_columns);
    bt.upload(sg::transposed(sg::row_major(b.get(), n, n)));
    ways.push_back({"panels of columns", [&] {
                        return good(sg::try_gemm(all.policy, all.a, sg::transposed(bt), sg::transposed(ct)));
                    }});
    std::vector<sg::ozaki<sg::cuda>> contracts;
    for (sg::cuda const& gpu : gpus) contracts.push_back(sg::ozaki{gpu});
    sg::out_of_core const by_contract(contracts);
    // One block of rows a device: ozaki makes slices of B for each.
    sg::panels_options const one_block{.height = (n + devices - 1) / devices};
    index_t const of_contract = sizeof(T) == 8 ? n : 0;
    sg::panels<T, sg::cuda> high_a(gpus, of_contract, n, one_block), high_c(gpus, of_contract, n, one_block);
    if constexpr (sizeof(T) == 8) {
        high_a.upload(sg::row_major(a.get(), n, n));
        ways.push_back({"FP64 by contract, one device", [&] {
                            return good(sg::try_gemm(contracts[0], da, db, dc)) &&
                                   good(gpus[0].synchronize());
                        }});
        ways.push_back({"FP64 by contract, panels",
                        [&] { return good(sg::try_gemm(by_contract, all.a, all.b, all.c)); }});
        ways.push_back({"FP64 by contract, one block each",
                        [&] { return good(sg::try_gemm(by_contract, high_a, all.b, high_c)); }});
    }
    std::vector<cublas_on<T>> peers;
    for (int i = 0; i < devices; ++i) peers.emplace_back(i);
    int const side = static_cast<int>(n);
    std::vector<sg::cuda::matrix<T>> whole_b;
    if (peers[0].ready()) {
        ways.push_back({"cuBLAS, one device", [&] {
                            return peers[0].multiply(side, side, side, da.data.address, db.data.address,
                                                     dc.data.address) &&
                                   good(gpus[0].synchronize());
                        }});
        // As if each device had all of B.
        for (sg::cuda const& gpu : gpus) {
            whole_b.emplace_back(gpu, n, n);
            whole_b.back().upload(sg::row_major(b.get(), n, n));
        }
        ways.push_back(
            {"cuBLAS on each, B on all", [&] {
                 bool fine = true;
                 for (int i = 0; i < devices; ++i)
                     fine &= peers[static_cast<std::size_t>(i)].multiply(
                         static_cast<int>(all.c.panel_on(i).rows), side, side, all.a.panel_on(i).data.address,
                         whole_b[static_cast<std::size_t>(i)].data().address, all.c.panel_on(i).data.address);
                 for (sg::cuda const& gpu : gpus) fine &= good(gpu.synchronize());
                 return fine;
             }});
    }
    auto pinned = gpus[0].leaf().pin(with_xt ? 3 * count * sizeof(T) : 0);
    bench::cublas_xt<T> const xt(devices, 4096);
    if (with_xt && pinned && xt.ready()) {
        auto* const x = reinterpret_cast<T*>(pinned->data());
        std::memcpy(x, a.get(), count * sizeof(T)), std::memcpy(x + count, b.get(), count * sizeof(T));
        ways.push_back({"cublasXt, pinned, blocks of 4096",
                        [&xt, x, count, n] { return xt.multiply(n, x + count, x, x + 2 * count); }});
    }

    for (int round = 0; round < 4; ++round) // the first one warms up
        for (way& w : ways) {
            double const begin = now();
            if (!w.run()) return std::printf("%s failed\n", w.name.c_str()), 1;
            if (round > 0) w.seconds.push_back(now() - begin);
        }
    all.multiply(), one.multiply();
    all.c.download(sg::row_major(c.get(), n, n)), one.c.download(sg::row_major(d.get(), n, n));
    std::printf("error %.2f u; the bits on one device and on %d are %s\n",
                error_of(n, a.get(), b.get(), c.get()), devices,
                std::memcmp(c.get(), d.get(), count * sizeof(T)) == 0 ? "the same" : "different");
    ct.download(sg::transposed(sg::row_major(d.get(), n, n)));
    std::printf("error in panels of columns %.2f u\n", error_of(n, a.get(), b.get(), d.get()));
    double const work = 2 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
    for (way const& w : ways)
        std::printf("%-34s %8.2f ms  %6.1f TFLOP/s  %.3f of one device\n", w.name.c_str(),
                    bench::median(w.seconds) * 1e3, work / bench::median(w.seconds) / 1e12,
                    bench::median(ways[0].seconds) / bench::median(w.seconds));
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    index_t const n = argc > 1 ? std::atol(argv[1]) : 16384;
    bool const is_float = argc > 2 && std::strcmp(argv[2], "float") == 0;
    if (sg::status s = sg::cuda{}.ready(); !s) return std::printf("%s\n", s.error().what()), 77;
    int const there = static_cast<int>(sg::cuda::devices().size()),
              asked = argc > 3 ? std::atoi(argv[3]) : there;
    if (asked < 1 || asked > there) return std::printf("there are %d devices\n", there), 77;
    bool const with_xt = argc > 4;
    return is_float ? run<float>(n, asked, with_xt) : run<double>(n, asked, with_xt);
}
