// What each tile is worth on a CUDA device: random products with every built-in tile and several parts of k.
//   cuda_tiles [SEED [COUNT [TYPES [LONGEST_K]]]]    TYPES: of float, double, bfloat16 and int8 their letters s, d, w, b
//   cuda_tiles TYPES SHAPE...                        SHAPE: as 222x1880x3720NN, or NT where B is transposed
// LONGEST_K (by default 8192) bounds k. Up to 256, m and n are at least 256, and kernels that fetch no tiles take part,
// as they do for shapes that are given.
// Needs nothing but the driver and NVRTC, so that it can be carried to a machine. For each product a line with the
// microseconds that it takes as the library runs it, and with the best tile; then the tiles and what they take. In the
// end: by how much what is chosen is slower than the best. Operands take turns, so that they are not in the second-level
// cache. The constants of backend/cuda/engine come from such lines.
#include <stratagemm/backend/cuda.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

namespace {

constexpr std::size_t pool_bytes = std::size_t{1} << 30;
constexpr double most_work = 8e10; // multiply-adds of a product

struct sides {
    index_t m, n, k;
    bool b_along_k;
};

sides draw(std::mt19937& from, double longest_k) {
    auto const below = [&](double most) { return static_cast<double>(from()) * 0x1p-32 * most; };
    auto const side = [&](double shortest, double longest) {
        auto const length =
            static_cast<index_t>(shortest * std::exp2(below(std::log2(longest / shortest))) + 0.5);
        return below(2) < 1 && length > 16 ? (length + 7) / 8 * 8 : length;
    };
    double const shortest = longest_k > 256 ? 1 : 256;
    sides s{};
    s.m = side(shortest, 8192), s.n = side(shortest, 8192), s.k = side(1, longest_k),
    s.b_along_k = below(2) < 1;
    return s;
}

template <class T>
class racer {
    using Out = std::conditional_t<std::is_integral_v<T>, sg::accumulator_t<T>, T>;

public:
    explicit racer(sg::cuda const& gpu)
        : gpu_(gpu), in_(gpu, length / 1024, 1024), out_(gpu, length / 1024, 1024) {
        std::mt19937 from(1);
        in_.upload(sg::matrix<T>(length / 1024, 1024, [&](index_t, index_t) {
            return static_cast<T>((static_cast<float>(from()) * 0x1p-31f - 1) *
                                  (std::is_integral_v<T> ? 127.0f : 1.0f));
        }));
    }

    // Microseconds, or -1 if the policy refuses: the shorter of two samples of a few milliseconds.
    double measure(sg::cuda const& policy, sides const& s) {
        index_t const a_size = rounded(s.m * s.k), b_size = rounded(s.k * s.n), c_size = rounded(s.m * s.n);
        index_t const sets =
            std::clamp<index_t>(length / std::max<index_t>(1, std::max(a_size + b_size, c_size)), 1, 16);
        auto const multiply = [&](index_t i) {
            T* const a = in_.view().data.address + i % sets * (a_size + b_size);
            auto const given = [](auto* p, index_t rows, index_t cols) {
                return sg::cuda::on_device(sg::row_major(p, rows, cols));
            };
            auto const c = given(out_.view().data.address + i % sets * c_size, s.m, s.n);
            if (s.b_along_k)
                return sg::try_gemm(policy, given(a, s.m, s.k), sg::transposed(given(a + a_size, s.n, s.k)),
                                    c);
            return sg::try_gemm(policy, given(a, s.m, s.k), given(a + a_size, s.k, s.n), c);
        };
        if (!multiply(0)) return -1;
        auto const timed = [&](index_t times) {
            gpu_.synchronize().or_throw();
            auto const start = std::chrono::steady_clock::now();
            for (index_t i = 0; i < times; ++i) multiply(i).or_throw();
            gpu_.synchronize().or_throw();
            std::chrono::duration<double, std::micro> const all = std::chrono::steady_clock::now() - start;
            return all.count() / static_cast<double>(times);
        };
        auto const times = std::clamp<index_t>(static_cast<index_t>(2000 / timed(3)), 3, 200);
        double const once = timed(times);
        return std::min(once, timed(times));
    }
    static bool fits(sides const& s) {
        return rounded(s.m * s.k) + rounded(s.k * s.n) <= length && s.m * s.n <= length;
    }

private:
    static constexpr auto length = static_cast<index_t>(pool_bytes / sizeof(T));
    static index_t rounded(index_t count) { return (count + 127) / 128 * 128; }
    sg::cuda gpu_;
    sg::cuda::matrix<T> in_;
    sg::cuda::matrix<Out> out_;
};

template <class T>
void race(sg::cuda const& gpu, char type, std::vector<sides> const& shapes, bool with_all) {
    racer<T> all(gpu);
    double sum = 0;
    int products = 0;
    for (sides const& s : shapes) {
        double const work = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
        if (work > most_work || !racer<T>::fits(s)) continue;
        std::string times;
        double best = 1e300;
        std::string best_tile = "as chosen";
        double const chosen = all.measure(gpu, s);
        sg::for_each_built_in([&]<class Tile>(sg::cuda_built_in<Tile> const& e) {
            if (!std::strchr(e.types, type) || (!with_all && !Tile::reads_lines())) return;
            int const below = sg::blocks_below(e.tile);
            std::string const cluster = below > 1 ? "x" + std::to_string(below) : "";
            index_t const tiles = ((s.m - 1) / e.tile.m + 1) * ((s.n - 1) / e.tile.n + 1);
            for (int const parts : {1, 2, 3, 4, 6, 8, 12, 16, 32, 64}) {
                if (parts > 1 && (s.k < 2 * parts * e.tile.k || tiles * parts > 2000 || work > most_work / 4))
                    break;
                sg::cuda with = gpu;
                Tile tile = e.tile;
                tile.parts = static_cast<short>(parts), with.tile = tile;
                double const one = all.measure(with, s);
                if (one < 0) break;
                char text[160];
                std::snprintf(text, sizeof text, " %s,%dx%dx%d%s,%d=%.1f", Tile::name, e.tile.m, e.tile.n,
                              e.tile.k, cluster.c_str(), parts, one);
                times += text;
                if (one < best) best = one, best_tile = std::string(text).substr(1);
            }
        });
        // Few columns, or after turning few rows, have a kernel whose blocks may share k.
        if (sg::is_narrow(type, {s.m, s.n, s.k, 1}) || sg::is_narrow(type, {s.n, s.m, s.k, 1}))
            for (int const parts : {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128})
                for (bool const together : {false, true}) {
                    if (parts > s.k / 32 || (together && (parts == 1 || parts > 8))) continue;
                    sg::cuda with = gpu;
                    with.tile = sg::cuda_narrow{.parts = static_cast<short>(parts), .together = together};
                    double const one = all.measure(with, s);
                    if (one < 0) break;
                    char text[160];
                    std::snprintf(text, sizeof text, " narrow,%d%s=%.1f", parts, together ? "t" : "", one);
                    times += text;
                    if (one < best) best = one, best_tile = std::string(text).substr(1);
                }
        best = std::min(best, chosen);
        sum += std::log(chosen / best), ++products;
        std::printf("%c %td x %td x %td %s: %.1f, best %s;%s\n", type, s.m, s.n, s.k,
                    s.b_along_k ? "NT" : "NN", chosen, best < chosen ? best_tile.c_str() : "as chosen",
                    times.c_str());
        std::fflush(stdout);
    }
    std::printf("%c: what is chosen takes %.3f of the best of all tiles (geometric mean of %d products)\n",
                type, std::exp(sum / std::max(1, products)), products);
}

} // namespace

int main(int argc, char** argv) try {
    sg::cuda const gpu;
    bool const given = argc > 2 && std::isalpha(static_cast<unsigned char>(*argv[1]));
    std::string const types = given ? argv[1] : argc > 3 ? argv[3] : "sdw";
    double const longest_k = argc > 4 ? std::atof(argv[4]) : 8192;
    std::vector<sides> shapes;
    if (given) {
        for (int i = 2; i < argc; ++i) {
            sides s{};
            char b = 0;
            if (std::sscanf(argv[i], "%tdx%tdx%tdN%c", &s.m, &s.n, &s.k, &b) != 4)
                throw std::invalid_argument(std::string("not a shape such as 222x1880x3720NN: ") + argv[i]);
            s.b_along_k = b == 'T';
            shapes.push_back(s);
        }
    } else {
        std::mt19937 from(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1);
        for (int i = 0; i < (argc > 2 ? std::atoi(argv[2]) : 100); ++i)
            shapes.push_back(draw(from, longest_k));
    }
    std::printf("%s, %zu products\n", gpu.where().name.c_str(), shapes.size());
    bool const with_all = given || longest_k <= 256;
    if (types.find('s') != types.npos) race<float>(gpu, 's', shapes, with_all);
    if (types.find('d') != types.npos) race<double>(gpu, 'd', shapes, with_all);
    if (types.find('w') != types.npos) race<sg::bfloat16>(gpu, 'w', shapes, with_all);
    if (types.find('b') != types.npos) race<std::int8_t>(gpu, 'b', shapes, with_all);
} catch (std::exception const& e) {
    std::fprintf(stderr, "cuda_tiles: %s\n", e.what());
    return 1;
}
