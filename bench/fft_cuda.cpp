// bench_fft_cuda: transforms on a CUDA device against cuFFT and VkFFT, and beside a copy of as many bytes. fft.hpp says
// what its cases, counters and flags are. Each case is measured in two forms: "queued", calls back to back, by the
// host's clock until the stream is empty; and "graph", as many of them in a captured graph.
#include "fft_device.hpp"
#include "sparse.hpp"

#include <stdexcept>

namespace {

using bench::fft_case;
using bench::fft_device_peer;
using bench::fft_way;

class cuda_machine {
public:
    double least_bytes = 128e6;

    explicit cuda_machine(sg::cuda const& gpu, graphs const& g) : gpu_(gpu), g_(g) {
        for (auto const* const peer : {bench::open_cufft(), bench::open_vkfft()})
            if (peer) peers_.push_back(peer);
    }
    bool takes(fft_case const&) const { return true; }
    std::vector<fft_device_peer const*> const& peers() const { return peers_; }
    bench::fft_device_problem about(fft_case const& c) const {
        static CUdevice device = 0;
        return {c.points, c.count, c.wide, c.real, &device, nullptr, gpu_.stream};
    }
    template <class M>
    void* handle(M& matrix) const {
        return const_cast<void*>(static_cast<void const*>(matrix.data().address));
    }
    void wait() const { gpu_.synchronize().or_throw(); }
    bool copies() const { return copy_ != nullptr; }
    template <class X, class Y>
    void copy(X& x, Y& y, std::size_t bytes) const {
        must(copy_(handle(y), handle(x), bytes, gpu_.stream), "cuMemcpyDtoDAsync");
    }
    // For some milliseconds of calls.
    template <class Call>
    std::vector<fft_way> ways(fft_way way, Call const& call, long sets) const {
        for (long i = 0; i < sets; ++i) call(i);
        wait();
        double const begin = now();
        for (long i = 0; i < 4; ++i) call(i % sets);
        wait();
        long const many = std::clamp(static_cast<long>(2e-3 / (now() - begin) * 4), 1L, 400L);
        way.calls = many < sets ? many : many / sets * sets;
        std::vector<fft_way> both{way, way};
        both[0].how = "queued", both[1].how = "graph";
        both[0].run = [this, call, sets, calls = way.calls](long times) {
            for (long t = 0; t < times; ++t)
                for (long i = 0; i < calls; ++i) call(i % sets);
            wait();
        };
        std::shared_ptr<void> const graph = capture(call, sets, way.calls);
        if (!graph) {
            std::printf("%s cannot be captured in a graph\n", way.name.c_str());
            both.pop_back();
            return both;
        }
        both[1].run = [this, graph](long times) {
            for (long t = 0; t < times; ++t) must(g_.launch(graph.get(), gpu_.stream), "cuGraphLaunch");
            wait();
        };
        return both;
    }

private:
    static void must(int code, char const* what) {
        if (code != 0) throw std::runtime_error(std::string(what) + " failed: " + std::to_string(code));
    }
    template <class Call>
    std::shared_ptr<void> capture(Call const& call, long sets, long calls) const {
        void *graph = nullptr, *ready = nullptr;
        if (!g_.begin) return nullptr; // not in the stand-in of tests/stand_in
        must(g_.begin(gpu_.stream, 2), "cuStreamBeginCapture");
        try {
            for (long i = 0; i < calls; ++i) call(i % sets);
        } catch (std::exception const& e) {
            std::printf("%s\n", e.what());
        }
        if (g_.end(gpu_.stream, &graph) != 0 || !graph) return nullptr;
        bool const made = g_.instantiate(&ready, graph, 0) == 0;
        must(g_.destroy_graph(graph), "cuGraphDestroy");
        return made ? std::shared_ptr<void>(ready, [this](void* old) { (void)g_.destroy(old); }) : nullptr;
    }

    sg::cuda gpu_;
    graphs const& g_;
    std::vector<fft_device_peer const*> peers_;
    int (*copy_)(void*, void const*, std::size_t, void*) = get<decltype(copy_)>(g_.driver,
                                                                                "cuMemcpyDtoDAsync_v2");
};

} // namespace

int main(int argc, char** argv) {
    sg::cuda gpu;
    graphs const g;
    std::vector<std::string> about;
    std::unique_ptr<cuda_machine> on;
    std::string const missing = bench::missing_on(gpu);
    std::unique_ptr<sg::cuda_session::context_scope> in;
    if (missing.empty()) {
        in.reset(new auto(sg::cuda_session::of(0).enter()));
        graphs::stream stream = nullptr;
        check(g.create(&stream, 1), "to create a stream");
        gpu.stream = static_cast<CUstream>(stream);
        on = std::make_unique<cuda_machine>(gpu, g);
        about.push_back(gpu.where().name + ", driver for CUDA " + std::to_string(gpu.where().driver));
        std::string names = "peers:";
        for (auto const* const peer : on->peers()) names += std::string(" ") + peer->name;
        about.push_back(names);
    }
    bench::fft_table table(std::move(about));
    return bench::run_ffts(
        argc, argv, bench::fft_device_cases(), table, missing,
        [&](benchmark::State& state, fft_case const& c) { bench::run_case(state, table, c, gpu, *on); });
}
