// bench_fft_variants [check]: a kernel for batches of 64 complex points in float, in 72 variants, and what each compiles
// to for the device, or for sm_90a where there is none: instructions, registers, shared memory. On a CUDA device it
// checks each against a transform in long double. "check" ends there; without it, the program prints what each takes,
// beside the library's kernel and cuFFT: in a captured graph, over operands that rotate, so that no call finds them in
// the second-level cache.
//
// The kernel is the textbook's: the points go to shared memory in the order of reversed bits, and six stages of radix 2
// follow, a barrier after each. With one point a thread, a thread computes one of the two results of a butterfly: it
// reads both points, and writes its own when all have read. With more, a thread has whole butterflies, whose points no
// other thread touches in that stage. The variants:
//   transforms a block   16, 32, 64; where a block would have more than 1024 threads, these take transforms in turn
//   points a thread      1, 2, 4
//   table of twiddles    32 entries, or 64, of which the second half is the first with the sign that one of the two
//                        results has
//   form                 a loop over stages, or stages unrolled
//   pitch                65 or 66 numbers in shared memory from one transform to the next
#include "fft_exact.hpp"
#include "peers/fft_device.hpp"
#include "sparse.hpp"

#include <stratagemm/structure/dft.hpp>

#include <cstdint>
#include <cstring>
#include <memory>

namespace {

constexpr int points = 64;

struct variant {
    int transforms, each, entries; // points a thread, of the table
    bool unrolled;
    int pitch;

    int threads() const { return std::min(1024, transforms * points / each); }
    int turns() const { return transforms * points / each / threads(); }
    unsigned blocks(long count) const { return static_cast<unsigned>((count + transforms - 1) / transforms); }
};

constexpr char const* text = R"(
struct alignas(8) number { float re, im; };
struct state {
    number x[TRANSFORMS * PITCH];
    number roots[ENTRIES];
};
constexpr int of_block = 64 / EACH, in_turn = THREADS / of_block; // threads of a transform; transforms at a time

extern "C" __global__ void __launch_bounds__(THREADS)
    fft64(number const* from, number* to, number const* table, long long count) {
    __shared__ state s;
    int const t = threadIdx.x % of_block, mine = threadIdx.x / of_block;
    long long const first = (long long)blockIdx.x * TRANSFORMS;
    for (int e = threadIdx.x; e < ENTRIES; e += THREADS) s.roots[e] = table[e];
    for (int turn = 0; turn < TURNS; ++turn) {
        int const at = mine + turn * in_turn;
        for (int p = 0; p < EACH; ++p) {
            int const i = t + p * of_block;
            unsigned r = 0;
            for (int bit = 0; bit < 6; ++bit) r |= (i >> bit & 1u) << (5 - bit);
            if (first + at < count) s.x[at * PITCH + r] = from[(first + at) * 64 + i];
        }
    }
    __syncthreads();
    UNROLL
    for (int stage = 0; stage < 6; ++stage) {
        int const half = 1 << stage, step = 32 >> stage;
#if EACH == 1
        number mine_now[TURNS];
        for (int turn = 0; turn < TURNS; ++turn) {
            number const* const x = s.x + (mine + turn * in_turn) * PITCH;
            number const a = x[t & ~half], b = x[t | half];
#if ENTRIES == 64
            number const w = s.roots[(t & (2 * half - 1)) * step];
#else
            number w = s.roots[(t & (half - 1)) * step];
            if (t & half) w.re = -w.re, w.im = -w.im;
#endif
            mine_now[turn].re = a.re + (w.re * b.re - w.im * b.im);
            mine_now[turn].im = a.im + (w.re * b.im + w.im * b.re);
        }
        __syncthreads();
        for (int turn = 0; turn < TURNS; ++turn) s.x[(mine + turn * in_turn) * PITCH + t] = mine_now[turn];
#else
        for (int turn = 0; turn < TURNS; ++turn)
            for (int p = 0; p < EACH / 2; ++p) {
                number* const x = s.x + (mine + turn * in_turn) * PITCH;
                int const pair = t + p * of_block, low = pair & (half - 1), i = 2 * (pair - low) + low;
                number const a = x[i], b = x[i + half], w = s.roots[low * step];
                number const c = {w.re * b.re - w.im * b.im, w.re * b.im + w.im * b.re};
                x[i].re = a.re + c.re, x[i].im = a.im + c.im;
#if ENTRIES == 64
                number const v = s.roots[(low + half) * step];
                x[i + half].re = a.re + (v.re * b.re - v.im * b.im);
                x[i + half].im = a.im + (v.re * b.im + v.im * b.re);
#else
                x[i + half].re = a.re - c.re, x[i + half].im = a.im - c.im;
#endif
            }
#endif
        __syncthreads();
    }
    for (int turn = 0; turn < TURNS; ++turn)
        for (int p = 0; p < EACH; ++p) {
            int const at = mine + turn * in_turn, i = t + p * of_block;
            if (first + at < count) to[(first + at) * 64 + i] = s.x[at * PITCH + i];
        }
}
)";

std::string source(variant const& v) {
    auto const define = [](char const* name, int value) {
        return std::string("#define ") + name + ' ' + std::to_string(value) + '\n';
    };
    std::string s = text;
    s.replace(s.find("UNROLL"), 6, v.unrolled ? "#pragma unroll" : "#pragma unroll 1");
    return define("TRANSFORMS", v.transforms) + define("EACH", v.each) + define("ENTRIES", v.entries) +
           define("PITCH", v.pitch) + define("THREADS", v.threads()) + define("TURNS", v.turns()) + s;
}

// The library's kernel for a batch whose transforms lie one after another.
struct library_kernel {
    int transforms, each, threads;
    sg::cuda_source source;

    library_kernel() {
        using C = std::complex<float>;
        sg::index_t const along = sg::dft_in_unit | sg::dft_out_unit;
        sg::dft_work<float> const by(points, along);
        sg::index_t const pairs = (by.can_pair(0) ? sg::dft_in_pairs : 0) |
                                  (by.can_pair(by.steps.count - 1) ? sg::dft_out_pairs : 0);
        transforms = by.together, each = points / by.threads, threads = by.items;
        auto kernel = sg::dft_kernel<C, C>({{points, along | pairs, points, points, 0}}, by.items);
        kernel.definitions = sg::cuda_epilogue<C>(sg::identity{}).definitions();
        source = sg::cuda_source_of(kernel);
    }
};

// Instructions of a kernel in a binary for the device, without what fills its end: an ELF file whose section
// .text.KERNEL has 16 bytes for each. -1 where it has none.
long instructions(std::string const& binary, std::string const& kernel) {
    auto const read = [&](std::size_t at, int bytes) {
        std::uint64_t x = 0;
        if (at + static_cast<std::size_t>(bytes) <= binary.size())
            std::memcpy(&x, binary.data() + at, static_cast<std::size_t>(bytes));
        return static_cast<std::size_t>(x);
    };
    if (binary.compare(0, 4, "\177ELF") != 0) return -1;
    std::size_t const sections = read(0x28, 8), size = read(0x3a, 2), count = read(0x3c, 2);
    std::size_t const names = read(sections + size * read(0x3e, 2) + 0x18, 8);
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t const section = sections + i * size, name = names + read(section, 4);
        if (name >= binary.size() || binary.c_str() + name != ".text." + kernel) continue;
        std::size_t const begin = read(section + 0x18, 8), bytes = read(section + 0x20, 8);
        long n = 0;
        for (std::size_t at = begin; at < begin + bytes; at += 16) n += (read(at, 2) & 0xfff) != 0x918; // NOP
        return n;
    }
    return -1;
}
// The number before a word in what the compiler said.
long before(std::string const& log, char const* word) {
    std::size_t at = log.find(word);
    if (at == std::string::npos) return 0;
    while (at > 0 && std::isdigit(static_cast<unsigned char>(log[at - 1]))) --at;
    return std::atol(log.c_str() + at);
}

// What a thread and a block of a kernel take: as the device has it or, where there is none, as the compiler said.
struct resources {
    long registers, bytes;

    resources(sg::cuda_binary const& made, char const* kernel, bool here)
        : registers(before(made.log, " registers")), bytes(before(made.log, " bytes smem")) {
        if (!here) return;
        auto const in = sg::cuda_session::of(0).enter();
        auto const& driver = sg::cuda_driver::get();
        CUmodule module = nullptr;
        CUfunction function = nullptr;
        int of_thread = 0, of_block = 0;
        check(driver.cuModuleLoadData(&module, made.code.c_str()), "to load a kernel");
        check(driver.cuModuleGetFunction(&function, module, kernel), "to find a kernel");
        check(driver.cuFuncGetAttribute(&of_thread, CU_FUNC_ATTRIBUTE_NUM_REGS, function),
              "to ask about a kernel");
        check(driver.cuFuncGetAttribute(&of_block, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function),
              "to ask about a kernel");
        registers = of_thread, bytes = of_block;
    }
};

// 64 and, for a table of 32, half of them: exp(-2 pi i k / 64).
std::vector<std::complex<float>> roots() {
    std::vector<std::complex<float>> all;
    for (int k = 0; k < points; ++k) {
        double const angle = -2 * 3.14159265358979323846 * k / points;
        all.emplace_back(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)));
    }
    return all;
}

using number = std::complex<float>;
using matrix = sg::cuda::matrix<number>;

// The operands of a batch, `sets` times, and what of these a call takes.
class device {
public:
    device(sg::cuda const& gpu, long count)
        : gpu_(gpu), c_{points, count}, host_(bench::fft_data<number>(points * count)),
          roots_(gpu, 1, points) {
        sets = static_cast<int>(std::clamp(128e6 / c_.bytes(), 2.0, 64.0));
        for (int i = 0; i < sets; ++i) {
            x.emplace_back(gpu, points, count, sg::layout::col_major);
            y.emplace_back(gpu, points, count, sg::layout::col_major);
            x.back().upload(sg::col_major(host_, points, count));
        }
        auto const table = roots();
        roots_.upload(sg::row_major(table, 1, points));
    }
    // Queues a variant over set i.
    void launch(CUfunction kernel, variant const& v, int i) {
        auto const at = static_cast<std::size_t>(i);
        auto *from = x[at].data().address, *to = y[at].data().address, *table = roots_.data().address;
        long long count = c_.count;
        void* arguments[] = {&from, &to, &table, &count};
        CUlaunchConfig config{};
        config.gridDimX = v.blocks(c_.count), config.gridDimY = config.gridDimZ = 1;
        config.blockDimX = static_cast<unsigned>(v.threads()), config.blockDimY = config.blockDimZ = 1;
        config.hStream = gpu_.stream;
        check(sg::cuda_driver::get().cuLaunchKernelEx(&config, kernel, arguments, nullptr), "to launch");
    }
    void clear() { gpu_.leaf().fill(y[0].view(), number(NAN)).or_throw(); }
    // Ends the program where what is in y is wrong.
    void judge(std::string const& name) {
        std::vector<number> seen(host_.size());
        y[0].download(sg::col_major(seen, points, c_.count));
        double const error = exact_.error(c_, host_.data(), seen.data());
        if (error < 1e-6) return;
        std::printf("%s is wrong: its relative error is %.1e\n", name.c_str(), error);
        std::exit(1);
    }
    long count() const { return c_.count; }

    int sets = 0;
    std::vector<matrix> x, y;

private:
    sg::cuda gpu_;
    bench::fft_case c_;
    std::vector<number> host_;
    matrix roots_;
    bench::exact_fft exact_{points};
};

// A column of times: the batch, and the times of the variants and of the others.
struct column {
    long count;
    std::vector<double> variants{};
    std::vector<std::pair<std::string, double>> others{}; // the library's first

    double library() const { return others[0].second; }
};

void add_library(std::vector<way>& ways, sg::cuda const& gpu, device& on) {
    auto const product = [&on](int i) {
        auto const at = static_cast<std::size_t>(i);
        return sg::product(sg::dft<float>(points), std::as_const(on.x[at]), on.y[at]);
    };
    using plan_type = decltype(sg::plan(gpu, product(0).shape()));
    auto const plan = std::make_shared<plan_type const>(gpu, product(0).shape());
    auto const memory = std::make_shared<typename plan_type::arena>(plan->reserve());
    ways.push_back({"stratagemm", [product, plan, memory](int i) { plan->run(product(i), *memory); }});
}

// Without a race they are checked, and no more.
column times(sg::cuda const& gpu, race const* by, std::vector<variant> const& all,
             std::vector<CUfunction> const& kernels, long count) {
    device on(gpu, count);
    std::vector<way> ways;
    for (std::size_t v = 0; v < all.size(); ++v)
        ways.push_back({"variant " + std::to_string(v),
                        [&on, &all, &kernels, v](int i) { on.launch(kernels[v], all[v], i); }});
    add_library(ways, gpu, on);
    static CUdevice ordinal = 0;
    bench::fft_device_problem const p{points, count, false, false, &ordinal, nullptr, gpu.stream};
    bench::fft_device_peer const* const cufft = bench::open_cufft();
    void* const plan = cufft ? cufft->prepare(p, nullptr, nullptr) : nullptr;
    if (plan)
        ways.push_back({"cuFFT", [&on, &p, cufft, plan](int i) {
                            auto const at = static_cast<std::size_t>(i);
                            if (!cufft->run(p, plan, on.x[at].data().address, on.y[at].data().address))
                                check(1, "cuFFT");
                        }});
    for (way& w : ways) {
        on.clear();
        w.call(0);
        gpu.synchronize().or_throw();
        on.judge(w.name);
    }
    column made{count};
    if (!by) return made;
    by->run(ways, on.sets, 9);
    for (std::size_t w = 0; w < ways.size(); ++w)
        if (w < all.size())
            made.variants.push_back(bench::median(ways[w].seconds));
        else
            made.others.emplace_back(ways[w].name, bench::median(ways[w].seconds));
    if (plan) cufft->release(plan);
    return made;
}

std::vector<variant> variants() {
    std::vector<variant> all;
    for (int const transforms : {16, 32, 64})
        for (int const each : {1, 2, 4})
            for (int const entries : {32, 64})
                for (bool const unrolled : {false, true})
                    for (int const pitch : {65, 66})
                        all.push_back({transforms, each, entries, unrolled, pitch});
    return all;
}

// What a kernel compiles to.
void print_made(sg::cuda_binary const& made, char const* kernel, bool here) {
    resources const r(made, kernel, here);
    std::printf("  %12ld  %9ld  %12ld", instructions(made.code, kernel), r.registers, r.bytes);
}
void print(std::vector<variant> const& all, std::vector<sg::cuda_binary> const& made,
           std::vector<column> const& columns, sg::cuda_binary const& of_library) {
    std::printf(
        "\n64 points by radix 2, and the library's kernel; instructions are those in the kernel's text\n"
        "transforms  points    table  form      pitch  threads  instructions  registers  shared bytes");
    for (column const& c : columns) std::printf("  us of %ld", c.count);
    std::printf("\n");
    for (std::size_t v = 0; v < all.size(); ++v) {
        variant const& x = all[v];
        std::printf("%10d  %6d  %7d  %-8s  %5d  %7d", x.transforms, x.each, x.entries,
                    x.unrolled ? "unrolled" : "loop", x.pitch, x.threads());
        print_made(made[v], "fft64", !columns.empty());
        for (column const& c : columns) std::printf("  %9.2f", c.variants[v] * 1e6);
        std::printf("\n");
    }
    library_kernel const ours;
    std::printf("%10d  %6d  %7s  %-8s  %5s  %7d", ours.transforms, ours.each, "-", "library", "-",
                ours.threads);
    print_made(of_library, ours.source.kernel, !columns.empty());
    for (column const& c : columns) std::printf("  %9.2f", c.library() * 1e6);
    std::printf("\n");
    for (column const& c : columns)
        for (auto const& [name, seconds] : c.others)
            std::printf(
                "%s: %.2f us for %ld; the best variant takes %.2f times as long, the library %.2f times\n",
                name.c_str(), seconds * 1e6, c.count,
                *std::min_element(c.variants.begin(), c.variants.end()) / seconds, c.library() / seconds);
}

} // namespace

int main(int argc, char** argv) try {
    bool const checks = argc > 1 && std::strcmp(argv[1], "check") == 0;
    sg::cuda gpu;
    bool const here = static_cast<bool>(gpu.ready());
    std::string const architecture = here ? gpu.where().architecture() : "sm_90a";
    auto const& compiler = sg::cuda_compiler::get();
    if (!compiler.missing().empty()) return std::printf("skipped: %s\n", compiler.missing().c_str()), 77;
    std::printf("%s; NVRTC %s, %s\n", here ? gpu.where().name.c_str() : "no CUDA device",
                compiler.version().c_str(), architecture.c_str());
    std::vector<variant> const all = variants();
    std::vector<sg::cuda_binary> made;
    for (variant const& v : all) {
        auto one = compiler.compile(source(v), "fft64", architecture, false, true);
        one.or_throw();
        made.push_back(*one);
    }
    sg::cuda_source const library = library_kernel().source;
    auto of_library = compiler.compile(library.text, library.kernel, architecture, library.exact, true);
    of_library.or_throw();
    std::vector<column> columns;
    if (here) {
        auto const in = sg::cuda_session::of(0).enter();
        auto const& driver = sg::cuda_driver::get();
        check(driver.cuStreamCreate(&gpu.stream, CU_STREAM_NON_BLOCKING), "to create a stream");
        graphs const g;
        race const by(g, gpu.stream);
        std::vector<CUfunction> kernels;
        for (sg::cuda_binary const& one : made) {
            CUmodule module = nullptr;
            check(driver.cuModuleLoadData(&module, one.code.c_str()), "to load a kernel");
            check(driver.cuModuleGetFunction(&kernels.emplace_back(), module, "fft64"), "to find a kernel");
        }
        if (checks) {
            times(gpu, nullptr, all, kernels, 1000); // not a multiple of what a block transforms
            return std::printf("all variants are right\n"), 0;
        }
        for (long const count : {10000L, 16384L}) columns.push_back(times(gpu, &by, all, kernels, count));
    }
    print(all, made, columns, *of_library);
} catch (std::exception const& e) {
    std::fprintf(stderr, "bench_fft_variants: %s\n", e.what());
    return 1;
}
