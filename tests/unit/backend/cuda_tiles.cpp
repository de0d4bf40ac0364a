// The tile that is chosen or found by tuning, and what each engine does at the rims of tiles and in parts of k.
#include "cuda.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/host.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace sg = stratagemm;
using namespace on_cuda;

// A small device chooses for some shapes what no large one would.
static sg::cuda_device as_large_as_an_h100(sg::cuda_device d) {
    d.units = 132, d.bytes_per_cycle = 14;
    return d;
}

TEST_CASE("what is chosen for a product does not hang on what was chosen before") {
    // More shapes than are remembered, by policies that choose differently, in one order and in the other.
    auto const choices = [](bool backwards) {
        std::vector<std::string> all(1200);
        for (std::size_t x = 0; x < all.size(); ++x) {
            std::size_t const i = backwards ? all.size() - 1 - x : x;
            sg::cuda gpu{.tf32 = i % 4 == 2};
            if (i % 4 == 0) gpu.tile = sg::cuda_blocked{32, 32, 16, 4, 4, 1, 4};
            auto const side = static_cast<sg::index_t>(64 << i / 4 % 8),
                       k = static_cast<sg::index_t>(1 + i / 32);
            all[i] = i % 4 == 3 ? gpu.describe(sg::shape<double>{.m = side, .n = 2 * side, .k = 64 * k})
                                : gpu.describe(sg::shape<float>{.m = side, .n = 2 * side, .k = 64 * k});
        }
        return all;
    };
    std::vector<std::string> const forwards = choices(false);
    CHECK(choices(true) == forwards);
    std::vector<std::string> elsewhere; // a thread remembers its own
    std::thread([&] { elsewhere = choices(true); }).join();
    CHECK(elsewhere == forwards);
    CHECK(std::set<std::string>(forwards.begin(), forwards.end()).size() > 4);
}

TEST_CASE("tuning keeps the best tile, for products of that size and for the next process", "[real]") {
    sg::cuda const gpu;
    sg::shape<sg::half> const shape{.m = 300, .n = 280, .k = 1000};
    int calls = 0, wrong = 0;
    sg::cuda_tuning_options options;
    options.seconds = 4;
    options.progress = [&](sg::cuda_configuration const& tile, double seconds, double) {
        ++calls, wrong += seconds < 0;
        if (seconds < 0) std::printf("failed: %s\n", sg::describe(tile).c_str());
    };
    std::string const before = gpu.describe(shape);
    auto tuned = gpu.tune(shape, options);
    REQUIRE(tuned);
    CHECK(tuned->measured == calls);
    CHECK(wrong == 0);
    CHECK(tuned->before > 0);
    REQUIRE(tuned->tile.is_given());
    // Not kept where it is no faster, as may be beside other programs.
    bool const kept = tuned->after < tuned->before;
    auto const text = kept ? sg::describe(tuned->tile) : before;
    CHECK(gpu.describe(shape).find(text) != std::string::npos);
    if (kept)
        CHECK(gpu.describe(sg::shape<sg::half>{.m = 310, .n = 270, .k = 900}).find(text) !=
              std::string::npos);
    CHECK(!gpu.tune(sg::shape<float>{.m = 0, .n = 1, .k = 1}));
}

TEST_CASE("the tuner takes every tile that is built in") {
    sg::for_each_built_in([](auto const& e) {
        for (char const* type = e.types; *type; ++type) {
            std::size_t const bytes = std::strchr("45b", *type)  ? 1
                                      : std::strchr("hw", *type) ? 2
                                      : std::strchr("st", *type) ? 4
                                      : *type == 'z'             ? 16
                                                                 : 8;
            CHECK(e.tile.is_legal(bytes, bytes < 4 ? 4 : bytes));
            sg::cuda_configuration const c = e.tile;
            CHECK(sg::cuda_configuration::of(values_of(c)) == c);
        }
    });
}

TEST_CASE(
    "of rows padded to multiples of 16 bytes, or not at all, what lies between is neither read nor written") {
    sg::cuda const gpu;
    // All bytes around the operands are set: NaN in every type that has one.
    auto const check = [&]<class In, class Out>(In, Out, auto const& tile, bool tf32 = false,
                                                bool odd = false) {
        sg::cuda with{.tile = tile};
        with.tf32 = tf32;
        auto const padded = [odd](sg::index_t side, std::size_t element, sg::index_t more) {
            sg::index_t const unit = odd ? 1 : 16 / static_cast<sg::index_t>(element);
            return (side + unit - 1) / unit * unit + more * unit;
        };
        auto const laid_out = [](auto at, sg::index_t lines, sg::index_t length, sg::index_t line) {
            std::vector<In> v(static_cast<std::size_t>(lines * line));
            std::memset(static_cast<void*>(v.data()), 0xff, v.size() * sizeof(In));
            for (sg::index_t i = 0; i < lines; ++i)
                for (sg::index_t j = 0; j < length; ++j)
                    v[static_cast<std::size_t>(i * line + j)] = static_cast<In>(at(i, j));
            return v;
        };
        auto const a = [](sg::index_t i, sg::index_t l) { return static_cast<float>((3 * i + l) % 5 - 2); };
        auto const b = [](sg::index_t l, sg::index_t j) { return static_cast<float>((l + 2 * j) % 3 - 1); };
        int wrong = 0, touched = 0;
        for (sg::index_t n = 1; n <= tile.n + 2; ++n) {
            sg::index_t const m = 5 + 11 * n % 73, k = 1 + 7 * n % 61, around = 256;
            bool const by_columns = n % 4 < 2; // B
            sg::index_t const a_line = padded(k, sizeof(In), n % 2),
                              b_line = padded(by_columns ? k : n, sizeof(In), n / 2 % 2),
                              c_line = padded(n, sizeof(Out), n / 3 % 2);
            sg::index_t const before = n % 5 == 0 ? 1 : 0; // then the first element is not aligned
            auto const ha = laid_out(a, m, k, a_line);
            auto const hb =
                by_columns ? laid_out([&](sg::index_t j, sg::index_t l) { return b(l, j); }, n, k, b_line)
                           : laid_out(b, k, n, b_line);
            std::vector<std::byte> c(static_cast<std::size_t>(2 * around) +
                                         static_cast<std::size_t>(m * c_line + before) * sizeof(Out),
                                     std::byte{0xff});
            auto const bytes = static_cast<sg::index_t>(c.size());
            sg::footprint f;
            f.device = (ha.size() + hb.size()) * sizeof(In) + c.size() + 3 * 256;
            auto arena = gpu.reserve(f);
            arena.or_throw();
            auto const da = arena->template take<In>(m * a_line),
                       db = arena->template take<In>(static_cast<sg::index_t>(hb.size()));
            auto const dc = arena->template take<std::byte>(bytes);
            gpu.leaf().upload(ha.data(), da, m * a_line).or_throw();
            gpu.leaf().upload(hb.data(), db, static_cast<sg::index_t>(hb.size())).or_throw();
            gpu.leaf().upload(c.data(), dc, bytes).or_throw();
            sg::cuda_view<In const> const B{db, k, n, by_columns ? 1 : b_line, by_columns ? b_line : 1};
            sg::gemm(with, sg::cuda_view<In const>{da, m, k, a_line, 1}, B,
                     sg::cuda_view<Out>{sg::cuda_memory::cast<Out>(dc + around) + before, m, n, c_line, 1});
            gpu.leaf().download(dc, c.data(), bytes).or_throw();
            // What should be there is compared, and made what the rest is.
            Out* const got = reinterpret_cast<Out*>(c.data() + around) + before;
            for (sg::index_t i = 0; i < m; ++i)
                for (sg::index_t j = 0; j < n; ++j) {
                    float exact = 0;
                    for (sg::index_t l = 0; l < k; ++l) exact += a(i, l) * b(l, j);
                    wrong += got[i * c_line + j] != static_cast<Out>(exact);
                    std::memset(static_cast<void*>(&got[i * c_line + j]), 0xff, sizeof(Out));
                }
            for (std::byte const x : c) touched += x != std::byte{0xff};
        }
        INFO(sg::describe(tile));
        CHECK(with.describe(sg::shape<In, In, Out>{.m = 78, .n = tile.n + 2, .k = 61})
                  .find(sg::describe(tile)) != std::string::npos);
        CHECK(wrong == 0);
        CHECK(touched == 0);
    };
    int const capability = gpu.where().capability;
    if (capability != 90) WARN("skipped: the kernels for Hopper");
    check(1.0f, 1.0f, sg::cuda_blocked{32, 32, 16, 2, 2, 2, 8});
    if (capability >= 90) {
        check(1.0f, 1.0f, sg::cuda_simt{64, 64, 32, 8, 4, 3, 2});
        check(1.0f, 1.0f, sg::cuda_simt{32, 64, 32, 8, 4, 3, 2}, false, true);
        check(1.0f, 1.0f, sg::cuda_simt{64, 32, 32, 4, 4, 3, 8});
        check(1.0f, 1.0f, sg::cuda_simt{32, 64, 32, 4, 4, 3, 8}, false, true);
        check(1.0, 1.0, sg::cuda_fp64{64, 64, 16, 32, 32, 3, 2});
        check(1.0, 1.0, sg::cuda_fp64{64, 96, 16, 16, 48, 6, 8});
        check(1.0, 1.0, sg::cuda_fp64{128, 32, 16, 32, 32, 6, 8}, false, true);
    }
    if (capability >= 80) {
        check(sg::half(), sg::half(), sg::cuda_mma{64, 64, 64, 32, 32, 3, 2});
        check(sg::half(), sg::half(), sg::cuda_mma{64, 64, 32, 32, 32, 1, 2});
        check(sg::bfloat16(), float(), sg::cuda_mma{128, 128, 32, 64, 32, 1, 8});
        check(std::int8_t(), std::int32_t(), sg::cuda_mma{64, 64, 128, 32, 32, 3, 2});
    }
    if (capability == 90) {
        check(sg::half(), sg::half(), sg::cuda_wgmma{64, 128, 64, 2, 2, 2});
        check(sg::half(), sg::half(), sg::cuda_wgmma{128, 192, 64, 2, 2});
        check(sg::half(), sg::half(), sg::cuda_wgmma{192, 192, 64, 2, 2, 2});
        check(sg::bfloat16(), float(), sg::cuda_wgmma{64, 64, 64, 2, 2});
        check(std::int8_t(), std::int32_t(), sg::cuda_wgmma{64, 64, 128, 2, 2});
        check(sg::fp8_e4m3(), float(), sg::cuda_wgmma{64, 64, 128, 2, 2});
        check(sg::fp8_e5m2(), sg::half(), sg::cuda_wgmma{64, 128, 128, 2, 2});
        check(1.0f, 1.0f, sg::cuda_wgmma{64, 128, 32, 2, 2}, true);
    }
}

TEST_CASE("a last round of tiles that is not full is divided along k") {
    sg::cuda const gpu;
    if (gpu.where().capability < 90) WARN("skipped: tiles are not fetched by hardware here");
    auto const check = [&]<class T, class Out>(T, Out, auto const& tile) {
        sg::cuda const with{.tile = tile};
        // Eight rows of tiles: rounds of all multiprocessors, of up to four tiles each, and some that are left. Small
        // tiles take lines that begin anywhere as they are, and are then not divided: lines of B do not. Five rows
        // of clusters, with one beyond C: they take a round, and begin another.
        bool const together = sg::blocks_below(tile) > 1;
        sg::index_t const columns = together ? gpu.where().units / 6 + 3 : gpu.where().units / 2 + 2,
                          m = (together ? 5 : 8) * tile.m - 3,
                          n = columns * tile.n - 48 / static_cast<sg::index_t>(sizeof(T)),
                          k = together ? 48 * tile.k + 28 : 500;
        sg::matrix<T> const a(m, k, [](sg::index_t i, sg::index_t j) {
            return T(static_cast<float>((3 * i + 2 * j) % 9 - 4));
        });
        sg::matrix<T> const b(
            k, n, [](sg::index_t i, sg::index_t j) { return T(static_cast<float>((5 * i + j) % 7 - 3)); });
        sg::matrix<Out> const e(m, n,
                                [](sg::index_t i, sg::index_t j) { return static_cast<Out>((i + j) % 5); });
        sg::matrix<Out> now(m, n), again(m, n);
        sg::cuda::matrix<T> da(gpu, a), db(gpu, b);
        sg::cuda::matrix<Out> dc(gpu, m, n);
        CHECK(with.describe(sg::shape<T, T, Out>{.m = m, .n = n, .k = k, .adds = true})
                  .find("of the last round k in parts") != std::string::npos);
        for (int const beta : {3, 0}) { // with 0, hardware may store C
            CAPTURE(sg::describe(tile), beta);
            sg::matrix<Out> exact = e;
            sg::gemm(sg::host{}, 2, a, b, beta, exact, sg::scale(Out(2)));
            auto const multiply = [&](sg::matrix<Out>& to) {
                dc.upload(e);
                sg::gemm(with, 2, da, db, beta, dc, sg::scale(Out(2)));
                dc.download(to);
            };
            multiply(now);
            if (beta != 0)
                multiply(again); // parts are added in the same order, whatever is done to their sum
            int wrong = 0;
            for (sg::index_t i = 0; i < m; ++i)
                for (sg::index_t j = 0; j < n; ++j)
                    wrong += now(i, j) != exact(i, j) || (beta != 0 && now(i, j) != again(i, j));
            CHECK(wrong == 0);
        }
    };
    if (gpu.where().capability >= 90) {
        check(1.0f, 1.0f, sg::cuda_simt{64, 64, 32, 4, 4, 3, 8});
        check(1.0f, 1.0f, sg::cuda_simt{128, 64, 32, 8, 8, 3, 2});
        if (gpu.where().capability == 90) check(1.0f, 1.0f, sg::cuda_simt{256, 192, 32, 16, 12, 3, 8});
        check(1.0, 1.0, sg::cuda_fp64{64, 64, 16, 32, 32, 4, 8});
        check(1.0, 1.0, sg::cuda_fp64{128, 64, 16, 32, 32, 8, 8});
        check(1.0, 1.0, sg::cuda_fp64{128, 96, 16, 32, 48, 6, 8});
        check(1.0, 1.0, sg::cuda_fp64{64, 32, 16, 32, 16, 4, 2});
    }
    if (gpu.where().capability == 90) {
        check(sg::half(), 1.0f, sg::cuda_wgmma{64, 128, 64, 4, 2, 2});
        check(sg::half(), 1.0f, sg::cuda_wgmma{192, 128, 64, 5, 8, 2});
        check(std::int8_t(), std::int32_t(), sg::cuda_wgmma{64, 128, 128, 4, 8, 2});
    }
}

TEST_CASE("blocks of a cluster add up their parts of k") {
    sg::cuda const gpu;
    if (gpu.where().capability < 90) WARN("skipped: there are no clusters here");
    auto const check = [&]<class T, class Out>(T, Out, auto tile, sg::index_t m, sg::index_t n, sg::index_t k,
                                               bool turned) {
        tile.parts = 3;
        sg::cuda const with{.tile = tile};
        CHECK(with.describe(sg::shape<T, T, Out>{.m = m, .n = n, .k = k}).find("the blocks of a cluster") !=
              std::string::npos);
        auto const value = [](sg::index_t x) { return static_cast<float>(x); };
        sg::matrix<T> const a(m, k, [&](auto i, auto j) { return T(value((3 * i + 2 * j) % 5 - 2)); });
        sg::matrix<T> const b(turned ? n : k, turned ? k : n,
                              [&](auto i, auto j) { return T(value((5 * i + j) % 3 - 1)); });
        sg::matrix<Out> const e(m, n, [&](auto i, auto j) { return Out(value((i + j) % 5)); });
        sg::matrix<Out> exact = e, now(m, n);
        sg::cuda::matrix<T> da(gpu, a), db(gpu, b);
        sg::cuda::matrix<Out> dc(gpu, e);
        auto const multiply = [&](auto const& policy, auto const& x, auto const& y, auto& to) {
            if (turned)
                sg::gemm(policy, 2, x, sg::transposed(y), 3, to);
            else
                sg::gemm(policy, 2, x, y, 3, to);
        };
        multiply(sg::host{}, a, b, exact);
        multiply(with, da, db, dc);
        dc.download(now);
        CHECK(different(now, exact) == 0);
    };
    if (gpu.where().capability < 90) return;
    check(1.0f, 1.0f, sg::cuda_simt{64, 64, 32, 8, 4, 3, 2}, 60, 61, 420, true);
    check(1.0f, 1.0f, sg::cuda_simt{64, 64, 32, 8, 4, 3, 2}, 60, 64, 419, false);
    check(sg::half(), float(), sg::cuda_mma{64, 64, 64, 32, 32, 3, 2}, 60, 61, 800, false);
    check(std::int8_t(), std::int32_t(), sg::cuda_mma{64, 64, 128, 32, 32, 3, 2}, 60, 61, 1500, true);
    // Parts of one step, fewer than there are stages: aligned, and in lines that begin anywhere.
    for (sg::index_t const k : {136, 131}) {
        check(sg::half(), float(), sg::cuda_mma{16, 64, 64, 16, 16, 6, 8}, 13, 61, k, true);
        check(sg::half(), float(), sg::cuda_mma{16, 64, 64, 16, 16, 6, 8}, 15, 64, k, false);
    }
    // Few rows or columns: with B along k, along n in aligned lines, and in lines that begin anywhere.
    sg::cuda_narrow const narrow{.together = true};
    for (sg::index_t const side : {200, 203}) {
        check(sg::half(), float(), narrow, 1, side, 701, false);
        check(sg::half(), float(), narrow, 3, side, 701, false);
        check(1.0f, 1.0f, narrow, 1, side, 701, false);
        check(1.0f, 1.0f, narrow, 3, side, 701, false);
        check(1.0, 1.0, narrow, 2, side, 701, false);
        check(std::int8_t(), std::int32_t(), narrow, 3, side, 701, false);
    }
    check(sg::half(), float(), narrow, 3, 203, 704, true);
    check(1.0f, 1.0f, narrow, 203, 3, 701, false);
    // Bytes: vectors, the last of which is a part of a piece, and words.
    for (sg::index_t const k : {704, 720, 716}) {
        check(std::int8_t(), std::int32_t(), narrow, 4, 203, k, true);
        check(std::int8_t(), std::int32_t(), narrow, 203, 1, k, true);
    }
    if (gpu.where().capability == 90) {
        check(sg::half(), float(), sg::cuda_wgmma{128, 64, 64, 3, 2}, 120, 56, 808, false);
        check(std::int8_t(), std::int32_t(), sg::cuda_wgmma{64, 64, 128, 3, 2}, 60, 61, 1500, true);
    }
}

TEST_CASE("products of 16 bits with few terms, or with few rows, run on tensor cores") {
    sg::cuda const gpu;
    if (gpu.where().capability != 90) {
        WARN("skipped: chosen for Hopper");
        return;
    }
    sg::cuda_device const h100 = as_large_as_an_h100(gpu.where());
    auto const check = [&](sg::index_t m, sg::index_t n, sg::index_t k, std::string const& engine) {
        CAPTURE(m, n, k);
        sg::cuda_choice const choice = sg::choose({h100, 'h', 2, {m, n, k, 1}});
        CHECK(sg::describe(choice.tile).starts_with(engine));
        CHECK(choice.together == (engine == "narrow"));
        auto const value = [](sg::index_t x) { return sg::half(static_cast<float>(x)); };
        sg::matrix<sg::half> const a(m, k, [&](auto i, auto j) { return value((3 * i + 2 * j) % 5 - 2); });
        sg::matrix<sg::half> const b(k, n, [&](auto i, auto j) { return value((5 * i + j) % 3 - 1); });
        sg::matrix<sg::half> exact(m, n), now(m, n);
        sg::cuda::matrix<sg::half> da(gpu, a), db(gpu, b), dc(gpu, m, n);
        sg::gemm(sg::host{}, a, b, exact);
        sg::gemm(gpu, da, db, dc);
        dc.download(now);
        CHECK(different(now, exact) == 0);
    };
    check(4744, 223, 23, "mma"); // lines begin anywhere
    check(792, 1645, 28, "mma");
    check(220, 7, 6594, "narrow");
    check(50, 1, 6592, "narrow");
}

TEST_CASE("few columns that begin anywhere take one launch, and no memory for copies that are not made") {
    sg::cuda const gpu;
    if (gpu.where().capability != 90) {
        WARN("skipped: chosen for Hopper");
        return;
    }
    sg::cuda_device const h100 = as_large_as_an_h100(gpu.where());
    for (sg::index_t const k : {279, 427, 715}) {
        sg::cuda_choice const choice = sg::choose({h100, 'h', 2, {130, 5, k, 1}, {true, true, true}});
        CAPTURE(k);
        CHECK(choice.tile.as<sg::cuda_ordered>());
        CHECK((choice.invariant && choice.part == 0));
    }
    // A^T lies along m, in lines that begin anywhere, and is read as it lies; so is B.
    sg::cuda::matrix<sg::half> const a(gpu, 5, 113), b(gpu, 113, 446);
    sg::cuda::matrix<sg::half> c(gpu, 5, 446);
    auto const p = sg::product(a.view(), b.view(), c.view());
    sg::cuda_product<std::remove_cvref_t<decltype(p)>> narrow(sg::cuda_session::of(gpu.device), nullptr, p,
                                                              false);
    CHECK(narrow.sides() == sg::cuda_sides{446, 5, 113, 1});
    narrow.take({{}, sg::cuda_narrow{.n = 5}});
    CHECK(narrow.workspace() == 0);
}

TEST_CASE(
    "few columns of a B that lies across k are read where they lie, and what is beside them does not count") {
    sg::cuda const gpu;
    auto const check = [&]<class T>(T, sg::index_t most) {
        using Out = std::conditional_t<std::is_integral_v<T>, std::int32_t, T>;
        auto const number = [](sg::index_t x) { return static_cast<T>(static_cast<float>(x)); };
        auto const nan = static_cast<T>(std::is_integral_v<T> ? 99.0f : std::nanf(""));
        for (sg::index_t const n : {most - 1, most})
            for (sg::index_t const k : {72, 250, 1037, 1104})
                for (sg::index_t const gap : {0, 1, 6, 60}) {
                    sg::index_t const m = 147, line = n + gap;
                    sg::matrix<T> const a(m, k,
                                          [&](auto i, auto l) { return number((3 * i + 2 * l) % 5 - 2); });
                    sg::matrix<T> const b(
                        k, line, [&](auto l, auto j) { return j < n ? number((5 * j + l) % 3 - 1) : nan; });
                    sg::matrix<Out> exact(m, n), now(m, n);
                    sg::cuda::matrix<T> const da(gpu, a), db(gpu, b);
                    sg::cuda::matrix<Out> dc(gpu, m, n);
                    sg::gemm(sg::host{}, a, b.block(0, 0, k, n), exact);
                    for (short const parts : std::array<short, 2>{1, 3}) {
                        CAPTURE(n, k, gap, parts);
                        bool const together = k > 500 && parts > 1;
                        sg::cuda with;
                        with.tile = sg::cuda_narrow{.parts = parts, .together = together};
                        dc.upload(sg::matrix<Out>(m, n, [](auto, auto) { return static_cast<Out>(77.0f); }));
                        sg::gemm(with, da, db.block(0, 0, k, n), dc);
                        dc.download(now);
                        CHECK(different(now, exact) == 0);
                    }
                    auto const p = sg::product(da.view(), db.view().block(0, 0, k, n), dc.view());
                    sg::cuda_product<std::remove_cvref_t<decltype(p)>> narrow(
                        sg::cuda_session::of(gpu.device), nullptr, p, false);
                    bool const by_words = k * static_cast<sg::index_t>(sizeof(T)) % 4 == 0;
                    bool const near = line * static_cast<sg::index_t>(sizeof(T)) <= 32;
                    narrow.take({{}, sg::cuda_narrow{.n = static_cast<short>(n)}});
                    if (gpu.where().capability >= 80 && by_words) CHECK((narrow.workspace() == 0) == near);
                }
    };
    check(sg::half(), 8);
    check(std::int8_t(), 3);
}

TEST_CASE("few columns of fp8 and of bytes, where lines of both operands begin at multiples of 4 bytes") {
    sg::cuda const gpu;
    auto const check = [&]<class T, class Out>(T, Out, sg::index_t n) {
        sg::index_t const m = 203, k = 1036;
        auto const number = [](sg::index_t x) { return static_cast<T>(static_cast<float>(x)); };
        sg::matrix<T> const a(m, k, [&](auto i, auto l) { return number((3 * i + 2 * l) % 5 - 2); });
        sg::matrix<T> const b(n, k, [&](auto j, auto l) { return number((5 * j + l) % 3 - 1); });
        sg::matrix<Out> exact(m, n), now(m, n);
        sg::cuda::matrix<T> const da(gpu, a), db(gpu, b);
        sg::cuda::matrix<Out> dc(gpu, m, n);
        sg::cuda with;
        with.tile = sg::cuda_narrow{.parts = 1};
        sg::gemm(sg::reference{}, a, sg::transposed(b), exact);
        sg::gemm(with, da, sg::transposed(db), dc);
        dc.download(now);
        CAPTURE(n);
        CHECK(different(now, exact) == 0);
    };
    for (sg::index_t const n : {1, 2, 3}) {
        check(sg::fp8_e4m3(), float(), n);
        check(std::int8_t(), std::int32_t(), n);
    }
}

TEST_CASE("warps share the terms of few columns whose lines begin anywhere") {
    sg::cuda const gpu;
    if (gpu.where().capability < 80) {
        WARN("skipped: no tensor cores for that");
        return;
    }
    auto const value = [](sg::index_t x) { return sg::half(static_cast<float>(x)); };
    for (auto const& [n, k] : {std::pair<sg::index_t, sg::index_t>{3, 333}, {11, 97}, {5, 1301}, {30, 259}}) {
        sg::index_t const m = 150;
        sg::matrix<sg::half> const a(m, k, [&](auto i, auto j) { return value((3 * i + 2 * j) % 5 - 2); });
        sg::matrix<sg::half> const b(n, k, [&](auto i, auto j) { return value((5 * i + j) % 3 - 1); });
        sg::matrix<sg::half> exact(m, n), now(m, n);
        sg::cuda::matrix<sg::half> da(gpu, a), db(gpu, b), dc(gpu, m, n);
        sg::gemm(sg::host{}, a, sg::transposed(b), exact);
        for (short const slices : std::array<short, 4>{1, 2, 4, 8})
            for (short const parts : std::array<short, 2>{1, 3}) {
                if (!sg::cuda_narrow::can_slice(n, slices)) continue;
                CAPTURE(n, k, slices, parts);
                bool const together = parts > 1 && slices != 2;
                sg::cuda with;
                with.tile =
                    sg::cuda_narrow{.slices = slices, .parts = parts, .together = together, .anywhere = true};
                dc.upload(sg::matrix<sg::half>(m, n, [&](auto, auto) { return value(77); }));
                sg::gemm(with, da, sg::transposed(db), dc);
                dc.download(now);
                CHECK(different(now, exact) == 0);
            }
    }
}

TEST_CASE("few rows of bytes are exact wherever lines begin, and what lies between them does not count") {
    sg::cuda const gpu;
    for (sg::index_t const m : {1, 3, 4})
        for (sg::index_t const k : {32, 48, 100, 716, 1936})
            for (sg::index_t const gap : {0, 1, 4, 16}) {
                CAPTURE(m, k, gap);
                sg::index_t const n = 203;
                auto const byte = [](sg::index_t x) { return static_cast<std::int8_t>(x); };
                sg::matrix<std::int8_t> const a(
                    m, k, [&](auto i, auto l) { return byte((7 * i + 5 * l) % 251 - 125); });
                sg::matrix<std::int8_t> const b(n, k + gap, [&](auto j, auto l) {
                    return l < k ? byte((3 * j + 11 * l) % 256 - 128) : byte(127);
                });
                sg::matrix<std::int32_t> exact(m, n), now(m, n);
                sg::cuda::matrix<std::int8_t> da(gpu, a), db(gpu, b);
                sg::cuda::matrix<std::int32_t> dc(gpu, m, n);
                sg::gemm(sg::host{}, a, sg::transposed(b.block(0, 0, n, k)), exact);
                dc.upload(sg::matrix<std::int32_t>(m, n, [](auto, auto) { return 77; }));
                sg::gemm(gpu, da, sg::transposed(db.block(0, 0, n, k)), dc);
                dc.download(now);
                CHECK(different(now, exact) == 0);
            }
}

TEST_CASE("tiles as wide as a round of blocks needs, and large ones that read lines along k") {
    sg::cuda const gpu;
    if (gpu.where().capability != 90) {
        WARN("skipped: tiles are not fetched by hardware here, or have other widths");
        return;
    }
    auto const check = [&]<class T, class Out>(T, Out, auto tile, sg::index_t m, sg::index_t n, sg::index_t k,
                                               bool adds, bool b_along_k = true, bool a_along_k = true) {
        CAPTURE(sg::describe(tile), m, n, k, adds, b_along_k, a_along_k);
        if constexpr (std::is_same_v<decltype(tile), sg::cuda_wgmma>)
            tile.parts = 1; // and not as many as there is room for
        sg::cuda const with{.tile = tile};
        if (!b_along_k)
            CHECK(with.describe(sg::shape<T, T, Out>{.m = m, .n = n, .k = k}).find(sg::describe(tile)) !=
                  std::string::npos);
        auto const value = [](sg::index_t x) { return static_cast<float>(x); };
        sg::matrix<T> const a(a_along_k ? m : k, a_along_k ? k : m, [&](auto i, auto j) {
            auto const [i_of_c, l] = a_along_k ? std::pair{i, j} : std::pair{j, i};
            return T(value((3 * i_of_c + 2 * l) % 5 - 2));
        });
        sg::matrix<T> const b(b_along_k ? n : k, b_along_k ? k : n, [&](auto i, auto j) {
            auto const [l, j_of_c] = b_along_k ? std::pair{j, i} : std::pair{i, j};
            return T(value((5 * j_of_c + l) % 3 - 1));
        });
        sg::matrix<Out> const e(m, n, [&](auto i, auto j) { return Out(value((i + j) % 5)); });
        sg::matrix<Out> exact = e, now(m, n);
        sg::cuda::matrix<T> da(gpu, a), db(gpu, b);
        sg::cuda::matrix<Out> dc(gpu, e);
        int const beta = adds ? 3 : 0;
        auto const multiply = [&](auto const& policy, auto const& x, auto const& y, auto& to) {
            if (b_along_k && a_along_k)
                sg::gemm(policy, 2, x, sg::transposed(y), beta, to);
            else if (b_along_k)
                sg::gemm(policy, 2, sg::transposed(x), sg::transposed(y), beta, to);
            else if (a_along_k)
                sg::gemm(policy, 2, x, y, beta, to);
            else
                sg::gemm(policy, 2, sg::transposed(x), y, beta, to);
        };
        multiply(sg::host{}, a, b, exact);
        multiply(with, da, db, dc);
        dc.download(now);
        CHECK(different(now, exact) == 0);
    };
    // Blocks of a cluster share what they fetch, below and beside each other; some of them have no tile.
    for (auto const& [below, beside] :
         {std::pair<short, short>{1, 2}, {2, 2}, {4, 1}, {1, 4}, {2, 4}, {4, 2}, {8, 1}, {1, 8}})
        for (bool const along_k : {false, true}) {
            auto const tile = [&, below = below, beside = beside](short rows, short cols, short depth) {
                return sg::cuda_wgmma{rows, cols, depth, 3, 8, below, beside};
            };
            check(sg::half(), sg::half(), tile(64, 64, 64), 328, 330, 200, false, along_k);
            check(sg::half(), float(), tile(64, 128, 64), 328, 336, 208, true, along_k, below == 2);
            check(sg::bfloat16(), sg::bfloat16(), tile(64, 128, 64), 136, 600, 264, false, along_k, false);
            if (below <= 2)
                check(sg::bfloat16(), sg::bfloat16(), tile(64, 80, 64), 200, 168, 136, false, along_k);
            if (below * beside == 8)
                check(sg::bfloat16(), sg::bfloat16(), tile(192, 128, 64), 800, 520, 136, below > 2, along_k);
            if (below * beside == 8 && below <= 4) {
                short const wide = below == 4 ? 160 : 208;
                check(sg::bfloat16(), sg::bfloat16(), tile(64, wide, 64), 328, 900, 136, below == 2, along_k);
            }
            check(std::int8_t(), std::int32_t(), tile(64, 64, 128), 328, 330, 400, along_k);
        }
    // How B is read and how C is written do not meet: each width has both ways to read by turns, each with half of the
    // ways to write.
    bool b_along_k = false;
    for (bool const adds : {false, true}) {
        for (sg::index_t const n : {336, 334, 331}) { // rows of C that the hardware stores, words, and others
            for (int const wide : {144, 160, 176, 208, 224, 240, 272, 288, 304}) { // an odd number of them
                auto const width = static_cast<short>(wide);
                short const stages = wide > 240 ? 3 : 4;
                check(sg::half(), sg::half(), sg::cuda_wgmma{128, width, 64, stages, 8}, 200, n, 72, adds,
                      b_along_k);
                check(sg::half(), float(), sg::cuda_wgmma{128, width, 64, stages, 8, 2}, 200, n, 72, adds,
                      !b_along_k);
                b_along_k = !b_along_k;
                check(std::int8_t(), std::int32_t(),
                      sg::cuda_wgmma{128, width, 128, stages, 8, static_cast<short>(1 + adds)}, 200, n, 144,
                      adds);
            }
            check(sg::bfloat16(), sg::bfloat16(), sg::cuda_wgmma{192, 160, 64, 4, 8}, 200, n, 72, adds);
            check(sg::bfloat16(), float(), sg::cuda_wgmma{192, 144, 64, 4, 8, 2}, 200, n, 72, adds);
            check(sg::half(), sg::half(), sg::cuda_wgmma{192, 112, 64, 5, 8}, 200, n, 400, adds, false);
        }
        // Lines of each alignment, and many more rows than columns.
        using sides = std::tuple<sg::index_t, sg::index_t, sg::index_t>;
        for (auto const& [m, n, k] :
             {sides{200, 300, 400}, {200, 300, 401}, {200, 300, 402}, {4000, 90, adds ? 400 : 401}}) {
            check(1.0f, 1.0f, sg::cuda_simt{128, 64, 32, 8, 8, 3, 8}, m, n, k, adds);
            check(1.0f, 1.0f, sg::cuda_simt{128, 96, 32, 8, 12, 3, 8}, m, n, k, adds);
            check(1.0f, 1.0f, sg::cuda_simt{128, 96, 32, 8, 12, 3, 8, 3}, m, n, k, adds);
            check(1.0f, 1.0f, sg::cuda_simt{128, 128, 32, 8, 16, 3, 8}, m, n, k, adds);
            check(1.0f, 1.0f, sg::cuda_simt{256, 128, 32, 8, 16, 4, 8}, m, n, k, adds);
        }
    }
}

TEST_CASE(
    "tiles with few rows or columns fetch no others, and what was in their place before does not count") {
    sg::cuda const gpu;
    if (gpu.where().capability != 90) {
        WARN("skipped: tiles are not fetched by hardware here");
        return;
    }
    auto const check = [&]<class T, class Out>(T, Out, auto const& tile, sg::index_t m, sg::index_t n,
                                               bool a_along_k, bool b_along_k) {
        sg::index_t const k = 272;
        CAPTURE(sg::describe(tile), m, n, a_along_k, b_along_k);
        sg::cuda with{.tile = tile};
        with.tf32 = std::is_same_v<T, float>;
        // As many rows and columns as the tile has, of NaN where there is one, leave them in shared memory.
        T const foul = std::is_integral_v<T> ? T(99) : T(std::nanf(""));
        sg::index_t const rows = tile.m * sg::blocks_below(tile), cols = tile.n * sg::blocks_beside(tile);
        // One matrix, or several behind each other.
        auto const filled = [&](sg::index_t side, bool along_k, sg::index_t count, auto const& value) {
            return along_k ? sg::matrix<T>(count * side, k, value) : sg::matrix<T>(count * k, side, value);
        };
        auto const lying = [&](auto const& x, sg::index_t side, bool along_k) {
            return along_k ? x.block(0, 0, side, k) : sg::transposed(x.block(0, 0, k, side));
        };
        auto const all_foul = [&](auto, auto) { return foul; };
        sg::cuda::matrix<T> const foul_a(gpu, filled(rows, a_along_k, 1, all_foul)),
            foul_b(gpu, filled(cols, b_along_k, 1, all_foul));
        sg::cuda::matrix<Out> foul_c(gpu, rows, cols);
        auto const number = [](sg::index_t i, sg::index_t j) {
            return T(static_cast<float>((3 * i + 2 * j) % 5 - 2));
        };
        for (sg::index_t const count : {1, 3}) {
            if (count > 1 && tile.parts > 1) continue;
            auto const a = filled(m, a_along_k, count, number), b = filled(n, b_along_k, count, number);
            sg::matrix<Out> exact(count * m, n), now(count * m, n);
            sg::cuda::matrix<T> const da(gpu, a), db(gpu, b);
            sg::cuda::matrix<Out> dc(gpu, count * m, n);
            auto const multiply = [&](auto const& policy, auto const& x, auto const& y, auto& z) {
                auto const as = sg::batched(lying(x, m, a_along_k), count, m * k);
                auto const bs = sg::batched(sg::transposed(lying(y, n, b_along_k)), count, n * k);
                sg::gemm(policy, as, bs, sg::batched(z.block(0, 0, m, n), count, m * n));
            };
            multiply(sg::reference{}, a, b, exact);
            sg::gemm(with, lying(foul_a, rows, a_along_k), sg::transposed(lying(foul_b, cols, b_along_k)),
                     foul_c);
            multiply(with, da, db, dc);
            dc.download(now);
            CHECK(different(now, exact) == 0);
        }
    };
    for (auto const& [m, n] : {std::pair<sg::index_t, sg::index_t>{1, 400}, {33, 400}, {400, 5}, {7, 24}})
        for (bool const a_along_k : {true, false})
            for (bool const b_along_k : {true, false}) {
                for (auto const& [below, beside, parts] :
                     {std::tuple<short, short, short>{1, 1, 1}, {1, 1, 3}, {2, 1, 1}, {2, 2, 1}, {1, 4, 1}})
                    check(sg::bfloat16(), sg::bfloat16(),
                          sg::cuda_wgmma{64, 128, 64, 3, 8, below, beside, parts}, m, n, a_along_k,
                          b_along_k);
                check(sg::half(), float(), sg::cuda_wgmma{128, 272, 64, 3, 8}, m, n, a_along_k, b_along_k);
                check(std::int8_t(), std::int32_t(), sg::cuda_wgmma{128, 64, 128, 3, 8}, m, n, a_along_k,
                      b_along_k);
                check(sg::fp8_e4m3(), float(), sg::cuda_wgmma{128, 64, 128, 3, 8}, m, n, a_along_k,
                      b_along_k);
                check(1.0f, 1.0f, sg::cuda_wgmma{64, 128, 32, 3, 8}, m, n, a_along_k, b_along_k);
                check(1.0, 1.0, sg::cuda_fp64{64, 96, 16, 16, 48, 6, 8}, m, n, a_along_k, b_along_k);
                check(1.0, 1.0, sg::cuda_fp64{96, 64, 16, 48, 32, 8, 8}, m, n, a_along_k, b_along_k);
            }
}

TEST_CASE("doubles are stored by lines where rows share sectors of memory") {
    sg::cuda const gpu;
    if (gpu.where().capability != 90) {
        WARN("skipped: doubles have other kernels here");
        return;
    }
    sg::index_t const m = 130, k = 40;
    for (sg::index_t const n : {198, 200}) { // rows of 200 share none
        auto const a = support::integers<double>(m, k, 1), b = support::integers<double>(n, k, 2),
                   e = support::integers<double>(m, n, 3);
        sg::cuda::matrix<double> const da(gpu, a), db(gpu, b);
        for (double const beta : {0.0, 3.0}) {
            sg::matrix<double> exact = e, now(m, n);
            sg::gemm(sg::host{}, 2, a, sg::transposed(b), beta, exact);
            for (auto const& tile :
                 {sg::cuda_fp64{64, 96, 16, 16, 48, 6, 8}, sg::cuda_fp64{64, 64, 16, 32, 32, 6, 8}}) {
                CAPTURE(sg::describe(tile), n, beta);
                sg::cuda::matrix<double> dc(gpu, e);
                sg::gemm(sg::cuda{.tile = tile}, 2, da, sg::transposed(db), beta, dc);
                dc.download(now);
                CHECK(different(now, exact) == 0);
            }
        }
    }
}

TEST_CASE("doubles that the hardware stores, from all tiles, beside what is not of C") {
    sg::cuda const gpu;
    if (gpu.where().capability != 90) {
        WARN("skipped: doubles have other kernels here");
        return;
    }
    // Rows with gaps, and so many that each block stores two tiles or three from the same memory.
    sg::index_t const n = 202, k = 35, line = n + 4;
    std::vector<double> values(static_cast<std::size_t>(n));
    for (std::size_t j = 0; j < values.size(); ++j) values[j] = static_cast<double>(j % 7);
    sg::cuda::matrix<double> const bias(
        gpu, sg::matrix<double>(1, n, [&](auto, auto j) { return values[static_cast<std::size_t>(j)]; }));
    for (auto const& entry : sg::cuda_tiles_of<sg::cuda_fp64>) {
        sg::index_t const columns = (n - 1) / entry.tile.n + 1, blocks = gpu.where().units * entry.blocks;
        sg::index_t const m = (5 * blocks / 2 / columns + 1) * entry.tile.m - 6;
        auto const rows = support::integers<double>(m, k, 1), cols = support::integers<double>(k, n, 2);
        sg::cuda::matrix<double> const a(gpu, rows), b(gpu, cols);
        sg::cuda::matrix<double> const a_turned(
            gpu, sg::matrix<double>(k, m, [&](auto l, auto i) { return rows(i, l); })),
            b_turned(gpu, sg::matrix<double>(n, k, [&](auto j, auto l) { return cols(l, j); }));
        sg::matrix<double> const before(m, line, [](auto, auto) { return 77.0; });
        sg::matrix<double> exact = before, now(m, line);
        sg::gemm(sg::host{}, 2, rows, cols, 0, exact.block(0, 0, m, n), sg::bias(values));
        sg::cuda const with{.tile = entry.tile};
        auto const check = [&](auto const& x, auto const& y) {
            sg::cuda::matrix<double> c(gpu, before);
            sg::gemm(with, 2, x, y, 0, c.block(0, 0, m, n), sg::bias(bias));
            c.download(now);
            CHECK(different(now, exact) == 0);
        };
        CAPTURE(sg::describe(entry.tile));
        check(a, b);
        check(a, sg::transposed(b_turned));
        check(sg::transposed(a_turned), b);
        check(sg::transposed(a_turned), sg::transposed(b_turned));
    }
}

TEMPLATE_TEST_CASE("a product that keeps the device busy is right in every element", "[real]", double, float,
                   sg::bfloat16) {
    sg::cuda const gpu;
    if (gpu.where().capability < 90) {
        WARN("skipped: tiles are not fetched by hardware here");
        return;
    }
    // All rows of A are the same, and all columns of B, of integers: so is C, and a tile that is multiplied from other
    // terms of k than it should be shows. When tiles were refilled too soon, it took so large a product to.
    sg::index_t const n = 8192;
    auto const row = support::integers<TestType>(1, n, 1), column = support::integers<TestType>(n, 1, 2);
    float sum = 0;
    for (sg::index_t l = 0; l < n; ++l)
        sum += static_cast<float>(row(0, l)) * static_cast<float>(column(l, 0));
    auto const exact = static_cast<TestType>(sum);

    sg::cuda::matrix<TestType> const one_row(gpu, row), one_column(gpu, column);
    sg::cuda::matrix<TestType> a(gpu, n, n), b(gpu, n, n), c(gpu, n, n);
    gpu.leaf().copy(sg::cuda_view<TestType const>{one_row.data(), n, n, 0, 1}, a.view()).or_throw();
    gpu.leaf().copy(sg::cuda_view<TestType const>{one_column.data(), n, n, 1, 0}, b.view()).or_throw();
    sg::matrix<TestType> now(n, n);
    for (int time = 0; time < 2; ++time) {
        gpu.leaf().fill(c.view(), TestType(-1.0f)).or_throw();
        sg::gemm(gpu, a, b, c);
        c.download(now);
        sg::index_t wrong = 0;
        for (sg::index_t i = 0; i < n; ++i)
            for (sg::index_t j = 0; j < n; ++j) wrong += !(now(i, j) == exact);
        CHECK(wrong == 0);
    }
}

TEST_CASE("a batch of more small products than are done at a time") {
    sg::cuda const gpu;
    auto const check = [&]<class T>(T, sg::index_t side) {
        sg::index_t const count = sg::index_t{1000} * gpu.where().units + 7, size = side * side;
        auto const some = [&](int step) {
            return sg::matrix<T>(count * side, side, [&](sg::index_t i, sg::index_t j) {
                return static_cast<T>(static_cast<float>((step * i + 2 * j + i / 100) % 7 - 3));
            });
        };
        sg::matrix<T> const a = some(3), b = some(5);
        sg::matrix<T> exact = some(1), now(count * side, side);
        sg::cuda::matrix<T> const da(gpu, a), db(gpu, b);
        sg::cuda::matrix<T> dc(gpu, exact);
        auto const all = [&](auto&& x) { return sg::batched(x.block(0, 0, side, side), count, size); };
        sg::gemm(sg::host{}, 2, all(a), all(b), 1, all(exact));
        sg::gemm(gpu, 2, all(da), all(db), 1, all(dc));
        dc.download(now);
        int wrong = 0;
        for (sg::index_t i = 0; i < count * side; ++i)
            for (sg::index_t j = 0; j < side; ++j)
                wrong += static_cast<float>(now(i, j)) != static_cast<float>(exact(i, j));
        CHECK(wrong == 0);
    };
    check(1.0f, 7); // of those whose blocks stay
    check(1.0f, 8);
    check(sg::half(1.0f), 16);
}
