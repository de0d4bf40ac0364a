// What every way to run a product takes on a CUDA device: random products, each in all ways that the engines have.
//   cuda_ways [SEED [COUNT [TYPES [MOST [WORKERS [EPILOGUES]]]]]]
// TYPES are letters: s, d, w, b of float, double, bfloat16 and int8 (the default); t of floats that may be rounded to
// tf32; 4 of fp8; c and z of complex numbers.
// Up to MOST ways of a product are measured (by default 120): some of each engine that the costs say are good, and others by lot.
// EPILOGUES: names with commas between, of none, bias, relu, gelu and sums such as bias+gelu (by default none); each product
// of real numbers is measured with each of them.
// Processes, WORKERS of them, compile the kernels first, into the folder of STRATAGEMM_CACHE_DIR. The program needs
// nothing but the driver and NVRTC, so that it can be carried to a machine. Operands take turns, so that they are not in
// the second-level cache. cuda_ways.hpp says what is printed.
#include "cuda_ways.hpp"

#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>

namespace {

using namespace bench;

constexpr std::size_t pool_bytes = std::size_t{1} << 29;
constexpr double most_work = 1e11; // multiply-adds of a product

struct asked {
    std::vector<cuda_shape> shapes;
    std::size_t most = 120;
    int worker = -1, workers = 0; // which ways this process compiles
};

// Up to `most` ways: those that the costs say are among the best of their engine, roughly, as many of each engine and
// twice as many of one without tiles; and one of four by lot from all others.
std::vector<cuda_way_taken> some_of(std::vector<cuda_way_taken> all, std::size_t most, std::mt19937& from) {
    std::shuffle(all.begin(), all.end(), from);
    for (auto& w : all) w.way.cycles *= 1 + static_cast<double>(from()) * 0x1p-33;
    std::sort(all.begin(), all.end(),
              [](auto const& x, auto const& y) { return x.way.cycles < y.way.cycles; });
    std::map<std::size_t, double> of_engine;
    for (auto& w : all) {
        bool const has_tiles =
            w.tile.visit([]<class Engine>(Engine const&) { return sg::has_tiles<Engine>; });
        w.way.cycles = of_engine[w.tile.index()] += has_tiles ? 2 : 1;
    }
    std::stable_sort(all.begin(), all.end(),
                     [](auto const& x, auto const& y) { return x.way.cycles < y.way.cycles; });
    if (all.size() <= most) return all;
    std::shuffle(all.begin() + static_cast<std::ptrdiff_t>(most * 3 / 4), all.end(), from);
    all.resize(most);
    return all;
}

template <class T>
class racer {
    using Out = std::conditional_t<std::is_integral_v<T>, sg::accumulator_t<T>,
                                   std::conditional_t<sizeof(T) == 1, sg::half, T>>;
    using epilogue = cuda_measured_epilogue<sg::accumulator_t<T>>;
    using problem = sg::dense_problem<T, T, Out, sg::cuda_memory, epilogue>;

public:
    // Without numbers nothing is measured.
    racer(sg::cuda const& gpu, bool with_numbers)
        : gpu_(gpu), in_(gpu, length / 1024, 1024), out_(gpu, length / 1024, 1024),
          memory_(gpu, static_cast<index_t>(pool_bytes / 16384), 4096) {
        if (!with_numbers) return;
        std::mt19937 from(1);
        in_.upload(sg::matrix<T>(length / 1024, 1024, [&](index_t, index_t) {
            return static_cast<T>((static_cast<float>(from()) * 0x1p-31f - 1) *
                                  (std::is_integral_v<T> ? 127.0f : 1.0f));
        }));
    }

    static bool fits(sg::cuda_sides const& s) {
        return rounded(s.m * s.k * s.count) + rounded(s.k * s.n * s.count) <= length &&
               s.m * s.n * s.count <= length &&
               static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k * s.count) <
                   most_work;
    }
    // Queues the product on one of several sets of operands.
    sg::status run(cuda_shape const& x, cuda_way_taken const& w, index_t turn) {
        sg::cuda_sides const& s = x.sides;
        index_t const a_size = rounded(s.m * s.k * s.count), b_size = rounded(s.k * s.n * s.count),
                      c_size = rounded(s.m * s.n * s.count);
        index_t const sets =
            std::clamp<index_t>(length / std::max<index_t>(1, std::max(a_size + b_size, c_size)), 1, 16);
        T* const a = in_.view().data.address + turn % sets * (a_size + b_size);
        auto const given = [](auto* p, index_t rows, index_t cols) {
            return sg::cuda::on_device(sg::row_major(p, rows, cols));
        };
        problem p;
        p.a = x.a_along_k ? given(a, s.m, s.k) : sg::transposed(given(a, s.k, s.m));
        p.b = x.b_along_k ? sg::transposed(given(a + a_size, s.n, s.k)) : given(a + a_size, s.k, s.n);
        p.c = given(out_.view().data.address + turn % sets * c_size, s.m, s.n);
        p.e = p.c;
        // Any values will do for a bias.
        p.epilogue = {x.epilogue, {reinterpret_cast<sg::accumulator_t<T> const*>(a)}};
        p.count = s.count, p.a_step = s.m * s.k, p.b_step = s.k * s.n, p.c_step = p.e_step = s.m * s.n;
        sg::cuda_product<problem> product(sg::cuda_session::of(gpu_.device), gpu_.stream, p, false, nullptr);
        if (product.sides() != s)
            return sg::error(sg::errc::unsupported, "cuda_ways: kernels take this product turned");
        sg::cuda_choice choice;
        static_cast<sg::cuda_way&>(choice) = w.way, choice.tile = w.tile;
        product.take(choice);
        sg::footprint f;
        f.device = product.workspace();
        sg::cuda_arena memory({reinterpret_cast<std::byte*>(memory_.view().data.address)}, pool_bytes,
                              nullptr);
        if (!memory.fits(f)) return sg::error(sg::errc::memory, "cuda_ways: more memory than there is");
        return product.run(memory);
    }
    // Microseconds: the shortest of three samples, each of about a millisecond.
    double measure(cuda_shape const& x, cuda_way_taken const& w) {
        auto const timed = [&](index_t times) {
            gpu_.synchronize().or_throw();
            auto const start = std::chrono::steady_clock::now();
            for (index_t i = 0; i < times; ++i) run(x, w, i).or_throw();
            gpu_.synchronize().or_throw();
            std::chrono::duration<double, std::micro> const all = std::chrono::steady_clock::now() - start;
            return all.count() / static_cast<double>(times);
        };
        auto const times = std::clamp<index_t>(static_cast<index_t>(1000 / timed(2)), 1, 250);
        double const once = timed(times), twice = timed(times);
        return std::min({once, twice, timed(times)});
    }

private:
    static constexpr auto length = static_cast<index_t>(pool_bytes / sizeof(T));
    static index_t rounded(index_t count) { return (count + 127) / 128 * 128; }
    sg::cuda gpu_;
    sg::cuda::matrix<T> in_;
    sg::cuda::matrix<Out> out_;
    sg::cuda::matrix<float> memory_;
};

// The worker that compiles a way: kernels that differ in the lengths of lines alone get the same one.
int worker_of(cuda_shape const& x, cuda_way_taken const& w, int workers) {
    std::size_t hash = static_cast<std::size_t>(x.a_along_k) * 2 + static_cast<std::size_t>(x.b_along_k);
    for (short const v : values_of(w.tile)) hash = hash * 31 + static_cast<std::size_t>(v);
    return static_cast<int>(std::hash<std::size_t>{}(hash * 0x9e3779b97f4a7c15u >> 20) %
                            static_cast<std::size_t>(workers));
}

template <class T>
void race(sg::cuda const& gpu, char type, asked const& how, cuda_ways_writer* to) {
    racer<T> all(gpu, how.worker < 0);
    std::mt19937 from(7);
    for (cuda_shape const& x : how.shapes) {
        if (x.type != type || !racer<T>::fits(x.sides)) continue;
        if (to) (*to)(x);
        for (cuda_way_taken w : some_of(ways_of(x.query(gpu.where())), how.most, from)) {
            if (how.worker >= 0) {
                if (worker_of(x, w, how.workers) == how.worker) (void)all.run(x, w, 0);
                continue;
            }
            if (!all.run(x, w, 0)) continue;
            w.microseconds = all.measure(x, w);
            (*to)(w);
        }
    }
    gpu.synchronize().or_throw();
}

// Each product with each of the epilogues that `names` lists; where they have no meaning, with none.
std::vector<cuda_shape> with_epilogues(std::vector<cuda_shape> const& shapes, std::string const& names) {
    std::vector<cuda_shape> all;
    for (cuda_shape x : shapes) {
        std::istringstream list(names);
        for (std::string name; std::getline(list, name, ',');) {
            x.epilogue = name == "none" ? "" : name;
            if (!x.epilogue.empty() && cuda_measured_epilogue<float>{x.epilogue}.instructions() == 0)
                throw std::invalid_argument("no epilogue is called " + name);
            if (x.epilogue.empty() || std::strchr("sdwt4", x.type)) all.push_back(x);
        }
    }
    return all;
}

void race_all(asked const& how, std::string const& types) {
    sg::cuda const gpu;
    std::optional<cuda_ways_writer> writer;
    if (how.worker < 0) writer.emplace(std::cout, gpu.where());
    cuda_ways_writer* const to = writer ? &*writer : nullptr;
    for (char const type : types) {
        if (type == 's') race<float>(gpu, type, how, to);
        if (type == 'd') race<double>(gpu, type, how, to);
        if (type == 'w') race<sg::bfloat16>(gpu, type, how, to);
        if (type == 'b') race<std::int8_t>(gpu, type, how, to);
        if (type == 't') race<float>(gpu, type, how, to);
        if (type == '4') race<sg::fp8_e4m3>(gpu, type, how, to);
        if (type == 'c') race<std::complex<float>>(gpu, type, how, to);
        if (type == 'z') race<std::complex<double>>(gpu, type, how, to);
    }
}

} // namespace

int main(int argc, char** argv) try {
    auto const number = [&](int place, int otherwise) {
        return argc > place ? std::atoi(argv[place]) : otherwise;
    };
    std::string const types = argc > 3 ? argv[3] : "sdwb";
    asked how;
    std::mt19937 from(static_cast<unsigned>(number(1, 1)));
    for (char const type : types)
        for (int i = 0; i < number(2, 100); ++i) how.shapes.push_back(draw_shape(from, type, i));
    if (argc > 6) how.shapes = with_epilogues(how.shapes, argv[6]);
    how.most = static_cast<std::size_t>(number(4, 120));
    how.workers = number(5, 0);
    for (how.worker = 0; how.worker < how.workers; ++how.worker)
        if (fork() == 0) return race_all(how, types), 0;
    while (wait(nullptr) > 0) {
    }
    how.worker = -1;
    race_all(how, types);
} catch (std::exception const& e) {
    std::fprintf(stderr, "cuda_ways: %s\n", e.what());
    return 1;
}
