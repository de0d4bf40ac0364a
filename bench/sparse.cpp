// Sparse and event-driven products on a CUDA device, against cuSPARSE and cuBLAS.
//
//   bench_sparse [events [SIDE] | csr [N] | graphs [FILTER] | variants [FILTER] | bsr | two_of_four | sampled | spgemm]
//
// All parts by default, but variants. graphs is csr with rows that differ (sparse_graphs.cpp), variants is the same with
// more of our kernels. spgemm is the part of sampled that is sparse times sparse. SIDE of the events' matrix: 20000.
// With N, csr has only products with N columns. All numbers are floats, but those of bsr are half, and those of
// two_of_four bfloat16. Times are those of a graph of many calls, replayed, so that they are the device's; "queued" is
// what a call takes that is queued by itself, one after another. Rounds measure every way once; medians of the rounds.
// Active sets rotate, so that no call finds the rows in the cache that the one before it read. Both libraries are
// opened at run time; for csr, cuSPARSE is prepared (cusparseSpMM_preprocess) before it is timed, and the best of its
// algorithms counts.
#include "sparse.hpp"

#include <stratagemm/structure/bsr.hpp>
#include <stratagemm/structure/events.hpp>
#include <stratagemm/structure/two_of_four.hpp>

namespace {

// ---- events ----------------------------------------------------------------------------------------------

void events(sg::cuda const& gpu, race const& by, graphs::stream stream, index_t side) {
    std::mt19937 random(1);
    device_matrix w(gpu, side, side);
    {
        std::vector<float> line(static_cast<std::size_t>(side * 64));
        for (float& x : line) x = static_cast<float>(random()) * 0x1p-31f - 1;
        for (index_t i = 0; i < side; i += 64) {
            index_t const rows = std::min<index_t>(64, side - i);
            gpu.leaf().upload(line.data(), w.data() + i * side, rows * side).or_throw();
        }
    }
    cublas blas;
    bool const peer =
        blas.gemv && blas.gemm && blas.create(&blas.handle) == 0 && blas.set_stream(blas.handle, stream) == 0;
    std::vector<index_t> all(static_cast<std::size_t>(side));
    for (index_t i = 0; i < side; ++i) all[static_cast<std::size_t>(i)] = i;
    for (index_t const m : {1, 4, 8}) {
        device_matrix y(gpu, m, side);
        std::printf(
            "events: X W (rows) and X W^T (gather), X of %td rows, W of %td x %td floats by rows; us a call "
            "(queued one by one), and over cuBLAS\n",
            m, side, side);
        std::vector<double> const densities =
            m == 1 ? std::vector{0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0}
                   : std::vector{0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0};
        for (double const density : densities) {
            int const sets = m == 1 ? 32 : 8;
            std::vector<device_matrix> x;
            std::vector<sg::cuda::matrix<std::int8_t>> marks;
            std::vector<sg::csr_matrix<float, std::int32_t, sg::cuda>> lists;
            for (int s = 0; s < sets; ++s) {
                sg::matrix<float> here(m, side, [](index_t, index_t) { return 0.0f; });
                auto const count = static_cast<index_t>(density * static_cast<double>(side));
                for (index_t row = 0; row < m; ++row) {
                    std::shuffle(all.begin(), all.end(), random);
                    for (index_t i = 0; i < count; ++i)
                        here(row, all[static_cast<std::size_t>(i)]) = static_cast<float>(random() % 1000 + 1);
                }
                sg::matrix<std::int8_t> const marked(m, side, [&](index_t i, index_t j) {
                    return static_cast<std::int8_t>(here(i, j) != 0 ? 1 : 0);
                });
                x.emplace_back(gpu, here);
                marks.emplace_back(gpu, marked);
                lists.push_back(sg::compact(gpu, x.back()));
            }
            auto const of = [&](int s) { return x[static_cast<std::size_t>(s)].view(); };
            auto const marked = [&](int s) { return marks[static_cast<std::size_t>(s)].view(); };
            auto const list = [&](int s) { return lists[static_cast<std::size_t>(s)].view(); };
            // Workspace for the calls that list.
            sg::plan const rows_plan(gpu, sg::product(sg::events(of(0)), w, y).shape());
            sg::plan const marks_plan(gpu, sg::product(sg::events<float>(marked(0)), w, y).shape());
            sg::plan const dense_plan(gpu, sg::product(of(0), w, y).shape());
            auto memory = rows_plan.reserve(), marks_memory = marks_plan.reserve(),
                 dense_memory = dense_plan.reserve();
            float const one = 1, zero = 0;
            int const n = static_cast<int>(side), few = static_cast<int>(m);
            auto const at = [](auto address) { return reinterpret_cast<float*>(address.address); };
            // As cuBLAS sees it, W is by columns: X W is its product without transposition.
            auto const multiply = [&](int transposed, int s) {
                if (m == 1)
                    check(blas.gemv(blas.handle, transposed, n, n, &one, at(w.data()), n, at(of(s).data), 1,
                                    &zero, at(y.data()), 1),
                          "cublasSgemv");
                else
                    check(blas.gemm(blas.handle, transposed, 0, n, few, n, &one, at(w.data()), 0, n,
                                    at(of(s).data), 0, n, &zero, at(y.data()), 0, n, 68, -1),
                          "cublasGemmEx");
            };
            for (bool const rows : {true, false}) {
                auto const other = rows ? w.view() : sg::transposed(w);
                std::vector<way> ways;
                ways.push_back({"listed before", [&](int s) { sg::gemm(gpu, list(s), other, y); }});
                ways.push_back({"listed within", [&](int s) {
                                    rows_plan.run(sg::product(sg::events(of(s)), other, y), memory);
                                }});
                ways.push_back({"marks", [&](int s) {
                                    marks_plan.run(sg::product(sg::events<float>(marked(s)), other, y),
                                                   marks_memory);
                                }});
                ways.push_back(
                    {"gemm", [&](int s) { dense_plan.run(sg::product(of(s), other, y), dense_memory); }});
                if (peer)
                    ways.push_back(
                        {m == 1 ? "cublasSgemv" : "cublasSgemm", [&](int s) { multiply(rows ? 0 : 1, s); }});
                by.run(ways, sets);
                double const base = median(ways.back().seconds);
                std::printf("%td rows %6.1f%%  %s", m, density * 100, rows ? "rows  " : "gather");
                for (way const& z : ways)
                    std::printf("  %s %.2f (%.2f) %.2fx", z.name.c_str(), median(z.seconds) * 1e6,
                                median(z.queued) * 1e6, base / median(z.seconds));
                std::printf("\n");
            }
        }
    }
}

// ---- CSR -------------------------------------------------------------------------------------------------

void csr(sg::cuda const& gpu, race const& by, graphs::stream stream, index_t only) {
    cusparse peer;
    bool const there = peer.multiply && peer.prepare && peer.times_vector && peer.create(&peer.handle) == 0 &&
                       peer.set_stream(peer.handle, stream) == 0;
    if (!there) std::printf("cuSPARSE is not here\n");
    struct sample {
        char const* name;
        host_csr a;
    };
    {
        // What the memory gives.
        index_t const count = index_t{1} << 27;
        device_matrix from(gpu, 1, count), to(gpu, 1, count);
        auto const copy = get<int (*)(std::uintptr_t, std::uintptr_t, std::size_t, void*)>(
            open_any({"libcuda.so.1"}), "cuMemcpyDtoDAsync_v2");
        auto const address = [](auto& m) { return reinterpret_cast<std::uintptr_t>(m.data().address); };
        std::vector<way> ways;
        ways.push_back({"copy", [&](int) {
                            check(
                                copy(address(to), address(from), static_cast<std::size_t>(count) * 4, stream),
                                "a copy");
                        }});
        by.run(ways, 1);
        std::printf("a copy within memory: %.2f TB/s, read and written\n",
                    static_cast<double>(count) * 8 / median(ways[0].queued) / 1e12);
    }
    std::vector<sample> samples;
    for (auto const& [name, density] :
         {std::pair{"uniform 0.1%", 0.001}, {"uniform 1%", 0.01}, {"uniform 5%", 0.05}, {"uniform 10%", 0.1}})
        samples.push_back(
            {name, make_csr(8192, 8192, [d = density](index_t) { return static_cast<index_t>(d * 8192); })});
    samples.push_back({"power law", make_csr(8192, 8192, [](index_t i) {
                           return static_cast<index_t>(
                               4 + 4000 / std::pow(1.0 + static_cast<double>(i * 2654435761u % 8192), 0.7));
                       })});
    samples.push_back({"banded 33", make_csr(
                                        100000, 100000, [](index_t) { return index_t{33}; }, true)});
    // Larger than the caches: what the memory gives.
    samples.push_back({"banded 33, long", make_csr(
                                              2000000, 2000000, [](index_t) { return index_t{33}; }, true)});
    samples.push_back({"uniform, tall", make_csr(131072, 32768, [](index_t) { return index_t{256}; })});
    samples.push_back({"uniform, large", make_csr(65536, 65536, [](index_t) { return index_t{512}; })});
    samples.push_back({"pruned 512, 70%", make_csr(512, 512, [](index_t) { return index_t{154}; })});
    samples.push_back({"pruned 2048, 90%", make_csr(2048, 2048, [](index_t) { return index_t{205}; })});
    samples.push_back({"pruned 4096, 98%", make_csr(4096, 4096, [](index_t) { return index_t{82}; })});
    std::printf("csr: A sparse, times N columns by rows; us, and over the best of cuSPARSE's algorithms\n");
    double product = 0, worst = 1e9;
    int count = 0;
    for (sample const& s : samples) {
        host_csr const& a = s.a;
        auto const nonzeros = static_cast<index_t>(a.values.size());
        sg::cuda::matrix<std::int32_t> begins(gpu, 1, a.rows + 1), columns(gpu, 1, nonzeros);
        device_matrix values(gpu, 1, nonzeros);
        begins.upload(sg::row_major(a.begins.data(), 1, a.rows + 1));
        columns.upload(sg::row_major(a.columns.data(), 1, nonzeros));
        values.upload(sg::row_major(a.values.data(), 1, nonzeros));
        sg::csr<float, std::int32_t, sg::cuda::space> const x{a.rows,         a.cols,        begins.data(),
                                                              columns.data(), values.data(), nonzeros};
        auto const in_pieces = sg::balanced(gpu, x);
        for (index_t const n : {1, 8, 64, 512, 8192}) {
            if (a.cols * n > index_t{1} << 28 || (nonzeros > 10000000 && n > 1)) continue;
            if (only > 0 && n != only) continue;
            device_matrix b(gpu, a.cols, n), c(gpu, a.rows, n), d(gpu, a.rows, n);
            {
                sg::matrix<float> here(a.cols, n, [](index_t i, index_t j) {
                    return static_cast<float>((i * 31 + j * 7) % 17 - 8);
                });
                b.upload(here);
            }
            std::vector<way> ways;
            sg::plan const plan(gpu, sg::product(in_pieces, b, c).shape());
            auto memory = plan.reserve();
            sg::plan const plain_plan(gpu, sg::product(x, b, c).shape());
            auto plain_memory = plain_plan.reserve();
            ways.push_back(
                {"stratagemm", [&](int) { plain_plan.run(sg::product(x, b, c), plain_memory); }, false});
            ways.push_back(
                {"in pieces", [&](int) { plan.run(sg::product(in_pieces, b, c), memory); }, false});
            void *matrix = nullptr, *dense_b = nullptr, *dense_c = nullptr;
            float const one = 1, zero = 0;
            std::vector<device_matrix> rooms;
            auto const address = [](auto& m) { return reinterpret_cast<void*>(m.data().address); };
            if (there) {
                check(peer.create_csr(&matrix, a.rows, a.cols, nonzeros, address(begins), address(columns),
                                      address(values), 2, 2, 0, 0),
                      "cusparseCreateCsr");
                if (n == 1)
                    check(peer.create_vector(&dense_b, a.cols, address(b), 0), "a vector"),
                        check(peer.create_vector(&dense_c, a.rows, address(d), 0), "a vector");
                else
                    check(peer.create_matrix(&dense_b, a.cols, n, n, address(b), 0, 2), "a matrix"),
                        check(peer.create_matrix(&dense_c, a.rows, n, n, address(d), 0, 2), "a matrix");
                for (int const algorithm : n == 1 ? std::vector<int>{2, 3} : std::vector<int>{4, 6, 12}) {
                    std::size_t bytes = 0;
                    int const ready = n == 1 ? peer.vector_room(peer.handle, 0, &one, matrix, dense_b, &zero,
                                                                dense_c, 0, algorithm, &bytes)
                                             : peer.room(peer.handle, 0, 0, &one, matrix, dense_b, &zero,
                                                         dense_c, 0, algorithm, &bytes);
                    if (ready != 0) continue;
                    rooms.emplace_back(gpu, 1, static_cast<index_t>(bytes / 4 + 64));
                    void* const room = address(rooms.back());
                    if (n > 1 && peer.prepare(peer.handle, 0, 0, &one, matrix, dense_b, &zero, dense_c, 0,
                                              algorithm, room) != 0)
                        continue;
                    ways.push_back({"cuSPARSE " + std::to_string(algorithm), [&, room, algorithm](int) {
                                        check(n == 1
                                                  ? peer.times_vector(peer.handle, 0, &one, matrix, dense_b,
                                                                      &zero, dense_c, 0, algorithm, room)
                                                  : peer.multiply(peer.handle, 0, 0, &one, matrix, dense_b,
                                                                  &zero, dense_c, 0, algorithm, room),
                                              "cuSPARSE");
                                    }});
                }
            }
            by.run(ways, 1, 3);
            double best = 1e9;
            for (way const& w : ways)
                if (w.counts) best = std::min(best, median(w.seconds));
            double const plain = median(ways[0].seconds), own = median(ways[1].seconds), ratio = best / own;
            double const bytes = static_cast<double>(nonzeros) * 8 + static_cast<double>(a.rows) * 4 +
                                 static_cast<double>((a.rows + a.cols) * n) * 4;
            int wrong = 0;
            if (there) {
                sg::matrix<float> mine(a.rows, n), theirs(a.rows, n);
                c.download(mine), d.download(theirs);
                for (index_t i = 0; i < a.rows; ++i)
                    for (index_t j = 0; j < n; ++j) wrong += !(std::fabs(mine(i, j) - theirs(i, j)) <= 1e-2f);
                product += std::log(ratio), ++count, worst = std::min(worst, ratio);
            }
            std::printf(
                "%-18s N %5td  %9.1f us  %6.2f TB/s  best %9.1f us  ratio %.2f%s  as it is %.1f us, %.2f",
                s.name, n, own * 1e6, bytes / own / 1e12, best * 1e6, ratio, wrong ? "  DIFFERENT" : "",
                plain * 1e6, best / plain);
            for (std::size_t i = 2; i < ways.size(); ++i)
                std::printf("  [%s %.1f]", ways[i].name.c_str() + 9, median(ways[i].seconds) * 1e6);
            std::printf("\n");
        }
    }
    if (count)
        std::printf("geometric mean %.2f, worst %.2f, of %d\n", std::exp(product / count), worst, count);
}

// ---- BSR -------------------------------------------------------------------------------------------------

// A of 8192 x 8192 with as many blocks in each row of blocks, at random columns. The rate of the stored blocks is
// their multiply-adds over the time; it is compared with the rate of the dense product.
void bsr(sg::cuda const& gpu, race const& by, graphs::stream stream) {
    constexpr index_t size = 8192;
    using half_matrix = sg::cuda::matrix<sg::half>;
    std::mt19937 random(3);
    auto const random_values = [&](index_t rows, index_t cols) {
        sg::matrix<sg::half> x(rows, cols);
        for (index_t i = 0; i < rows; ++i)
            for (index_t j = 0; j < cols; ++j)
                x(i, j) = sg::half(static_cast<float>(random()) * 0x1p-31f - 1);
        return x;
    };
    auto const address = [](auto& m) { return reinterpret_cast<void*>(m.data().address); };
    half_matrix all(gpu, 1, size * size), dense(gpu, size, size);
    all.upload(random_values(1, size * size));
    cublas blas;
    bool const has_blas =
        blas.gemm && blas.create(&blas.handle) == 0 && blas.set_stream(blas.handle, stream) == 0;
    cusparse peer;
    bool const has_sparse =
        peer.multiply && peer.create(&peer.handle) == 0 && peer.set_stream(peer.handle, stream) == 0;
    std::printf("bsr: half, 8192 x 8192, times N columns by rows; TFLOP/s of stored blocks, and over the "
                "dense rate\n");
    for (index_t const side : {16, 32, 64})
        for (double const density : {0.05, 0.1, 0.3})
            for (index_t const n : {512, 8192}) {
                index_t const lines = size / side;
                auto const in_row = std::lround(density * static_cast<double>(lines));
                index_t const blocks = lines * in_row;
                std::vector<std::int32_t> begins{0}, columns, line(static_cast<std::size_t>(lines));
                for (std::size_t i = 0; i < line.size(); ++i) line[i] = static_cast<std::int32_t>(i);
                for (index_t i = 0; i < lines; ++i) {
                    std::shuffle(line.begin(), line.end(), random);
                    std::sort(line.begin(), line.begin() + in_row);
                    columns.insert(columns.end(), line.begin(), line.begin() + in_row);
                    begins.push_back(static_cast<std::int32_t>(columns.size()));
                }
                sg::cuda::matrix<std::int32_t> there_begins(gpu, 1, lines + 1), there_columns(gpu, 1, blocks);
                there_begins.upload(sg::row_major(begins.data(), 1, lines + 1));
                there_columns.upload(sg::row_major(columns.data(), 1, blocks));
                half_matrix values(gpu, 1, blocks * side * side), b(gpu, size, n), c(gpu, size, n),
                    d(gpu, size, n);
                values.upload(random_values(1, blocks * side * side));
                b.upload(random_values(size, n));
                sg::bsr<sg::half, std::int32_t, sg::cuda::space> const x{
                    size, size, side, there_begins.data(), there_columns.data(), values.data(), blocks};
                auto const p = sg::product(x, b, c);
                sg::plan const plan(gpu, p.shape());
                auto memory = plan.reserve();
                // What the plan runs is checked as a dense product.
                plan.run(p, memory);
                sg::to_dense(gpu, x, dense);
                sg::gemm(gpu, dense, b, d);
                index_t const rows = std::min<index_t>(size, 1024);
                sg::matrix<sg::half> mine(rows, n), expected(rows, n);
                gpu.leaf().download(c.data(), mine.data(), rows * n).or_throw();
                gpu.leaf().download(d.data(), expected.data(), rows * n).or_throw();
                double furthest = 0;
                for (index_t i = 0; i < rows; ++i)
                    for (index_t j = 0; j < n; ++j) {
                        double const off =
                            std::fabs(static_cast<float>(mine(i, j)) - static_cast<float>(expected(i, j)));
                        furthest = off <= furthest ? furthest : off; // NaN counts
                    }

                std::vector<way> ways;
                ways.push_back({"gemm", [&](int) { plan.run(p, memory); }});
                if (gpu.leaf().warpgroup_units() > 0)
                    for (sg::bsr_tiling const& tile : sg::bsr_tilings)
                        ways.push_back(
                            {std::to_string(tile.rows) + " x " + std::to_string(tile.cols),
                             [&, tile](int) { sg::multiply_bsr(gpu.leaf(), p, tile).or_throw(); }});
                float const one = 1, zero = 0;
                void *ell = nullptr, *blocked = nullptr, *dense_b = nullptr, *dense_c = nullptr;
                std::vector<half_matrix> rooms;
                if (has_sparse) {
                    check(peer.create_matrix(&dense_b, size, n, n, address(b), 2, 2), "a matrix");
                    check(peer.create_matrix(&dense_c, size, n, n, address(d), 2, 2), "a matrix");
                    if (!peer.create_ell ||
                        peer.create_ell(&ell, size, size, side, in_row * side, address(there_columns),
                                        address(values), 2, 0, 2) != 0)
                        ell = nullptr;
                    if (!peer.create_bsr ||
                        peer.create_bsr(&blocked, lines, lines, blocks, side, side, address(there_begins),
                                        address(there_columns), address(values), 2, 2, 0, 2, 2) != 0)
                        blocked = nullptr;
                    auto const add = [&](char const* name, void* matrix, int algorithm) {
                        std::size_t bytes = 0;
                        if (!matrix || peer.room(peer.handle, 0, 0, &one, matrix, dense_b, &zero, dense_c, 0,
                                                 algorithm, &bytes) != 0)
                            return;
                        rooms.emplace_back(gpu, 1, static_cast<index_t>(bytes / 2 + 64));
                        void* const room = address(rooms.back());
                        auto const call = [&, matrix, room, algorithm] {
                            return peer.multiply(peer.handle, 0, 0, &one, matrix, dense_b, &zero, dense_c, 0,
                                                 algorithm, room);
                        };
                        if (call() == 0 && by.can_hold(call))
                            ways.push_back({name, [=](int) { check(call(), name); }});
                    };
                    add("cuSPARSE blocked ELL", ell, 13);
                    add("cuSPARSE BSR", blocked, 14);
                }
                if (has_blas)
                    ways.push_back({"dense", [&](int) {
                                        check(blas.gemm(blas.handle, 0, 0, static_cast<int>(n), size, size,
                                                        &one, address(b), 2, static_cast<int>(n),
                                                        address(all), 2, size, &zero, address(d), 2,
                                                        static_cast<int>(n), 68, -1),
                                              "cublasGemmEx");
                                    }});
                by.run(ways, 1, 3);
                double const square = 2.0 * size * size * static_cast<double>(n),
                             stored =
                                 square * static_cast<double>(blocks) / static_cast<double>(lines * lines),
                             of_dense = has_blas ? square / median(ways.back().seconds) : 0;
                std::printf("side %2td  %2.0f%%  N %4td  off by %.2g ", side, density * 100, n, furthest);
                for (way const& w : ways) {
                    double const rate = (w.name == "dense" ? square : stored) / median(w.seconds);
                    std::printf("  %s %.0f", w.name.c_str(), rate * 1e-12);
                    if (of_dense > 0 && w.name != "dense") std::printf(" %.2f", rate / of_dense);
                }
                std::printf("\n");
            }
}

// ---- 2:4 -------------------------------------------------------------------------------------------------

// Rates count the multiply-adds of the dense product, which is timed with all elements of A.
void two_of_four(sg::cuda const& gpu, race const& by, graphs::stream stream) {
    using number = sg::bfloat16;
    using matrix = sg::cuda::matrix<number>;
    using view = sg::view<number const, sg::cuda::space>;
    struct sides {
        index_t m, n, k;
    };
    constexpr index_t most = 8192 * 8192, apart = 1 << 16;
    matrix all(gpu, 1, most + apart);
    {
        std::mt19937 random(5);
        sg::matrix<number> here(1, most + apart);
        for (index_t i = 0; i < most + apart; ++i)
            here(0, i) = number(static_cast<float>(random()) * 0x1p-31f - 1);
        all.upload(here);
    }
    cublas blas;
    bool const has_blas =
        blas.gemm && blas.create(&blas.handle) == 0 && blas.set_stream(blas.handle, stream) == 0;
    std::printf(
        "two_of_four: bfloat16, A of m x k; TFLOP/s of the dense product, and over our dense product's\n");
    for (auto const& [m, n, k] :
         {sides{2048, 2048, 2048}, sides{4096, 4096, 4096}, sides{8192, 8192, 8192}, sides{4096, 16, 11008},
          sides{4096, 64, 11008}, sides{4096, 512, 11008}, sides{11008, 4096, 4096}}) {
        view const a{all.data(), m, k, k, 1}, b{all.data() + apart, k, n, n, 1},
            turned_b{all.data() + apart, n, k, k, 1};
        matrix dense(gpu, m, k), c(gpu, m, n), d(gpu, m, n), turned_c(gpu, n, m);
        auto const pruned = sg::prune_to_two_of_four(gpu, a);
        auto const x = pruned.view();
        auto const p = sg::product(x, b, c);
        sg::plan const plan(gpu, p.shape());
        auto memory = plan.reserve();
        // What the plan runs is checked as a dense product.
        plan.run(p, memory);
        sg::to_dense(gpu, x, dense);
        sg::gemm(gpu, dense, b, d);
        index_t const rows = std::min<index_t>(m, 1024);
        sg::matrix<number> mine(rows, n), expected(rows, n);
        gpu.leaf().download(c.data(), mine.data(), rows * n).or_throw();
        gpu.leaf().download(d.data(), expected.data(), rows * n).or_throw();
        double furthest = 0;
        for (index_t i = 0; i < rows; ++i)
            for (index_t j = 0; j < n; ++j) {
                double const off =
                    std::fabs(static_cast<float>(mine(i, j)) - static_cast<float>(expected(i, j)));
                furthest = off <= furthest ? furthest : off; // NaN counts
            }

        std::vector<way> ways;
        sg::plan const dense_plan(gpu, sg::product(a, b, d).shape());
        auto dense_memory = dense_plan.reserve();
        ways.push_back({"dense", [&](int) { dense_plan.run(sg::product(a, b, d), dense_memory); }});
        ways.push_back({"gemm", [&](int) { plan.run(p, memory); }});
        // As layers of networks have it: C^T = B^T A^T, each by rows.
        auto const turned = sg::product(turned_b, x.transposed(), turned_c);
        sg::plan const turned_plan(gpu, turned.shape());
        auto turned_memory = turned_plan.reserve();
        ways.push_back({"transposed", [&](int) { turned_plan.run(turned, turned_memory); }});
        if (gpu.leaf().warpgroup_units() > 0)
            for (sg::two_of_four_tiling const& tile : sg::two_of_four_tilings)
                ways.push_back(
                    {std::to_string(tile.rows) + " x " + std::to_string(tile.cols),
                     [&, tile](int) { sg::multiply_two_of_four(gpu.leaf(), p, tile).or_throw(); }});
        float const one = 1, zero = 0;
        auto const address = [](auto const& data) { return const_cast<number*>(data.address); };
        int const width = static_cast<int>(n), height = static_cast<int>(m), depth = static_cast<int>(k);
        if (has_blas)
            ways.push_back({"cuBLAS dense", [&](int) {
                                check(blas.gemm(blas.handle, 0, 0, width, height, depth, &one,
                                                address(b.data), 14, width, address(a.data), 14, depth, &zero,
                                                address(d.data()), 14, width, 68, -1),
                                      "cublasGemmEx");
                            }});
        by.run(ways, 1);
        double const work = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
        std::printf("%5td x %4td x %5td  off by %.2g ", m, n, k, furthest);
        for (way const& w : ways)
            std::printf("  %s %.0f %.2f", w.name.c_str(), work / median(w.seconds) * 1e-12,
                        median(ways[0].seconds) / median(w.seconds));
        std::printf("\n");
    }
}

} // namespace

int main(int argc, char** argv) {
    std::string const what = argc > 1 ? argv[1] : "";
    index_t const number = argc > 2 ? std::atol(argv[2]) : 0;
    sg::cuda gpu;
    if (sg::status s = gpu.ready(); !s) return std::printf("%s\n", s.error().what()), 77;
    auto const in = sg::cuda_session::of(0).enter();
    graphs const g;
    graphs::stream stream = nullptr;
    check(g.create(&stream, 1), "to create a stream");
    gpu.stream = static_cast<CUstream>(stream);
    std::printf("%s, driver for CUDA %d\n", gpu.where().name.c_str(), gpu.where().driver);
    race const by(g, stream);
    if (what.empty() || what == "events") events(gpu, by, stream, number > 0 ? number : 20000);
    if (what.empty() || what == "csr") csr(gpu, by, stream, number);
    if (what.empty() || what == "graphs" || what == "variants")
        graphs_by_kind(gpu, by, stream, argc > 2 ? argv[2] : "", what == "variants");
    if (what.empty() || what == "bsr") bsr(gpu, by, stream);
    if (what.empty() || what == "two_of_four") two_of_four(gpu, by, stream);
    if (what.empty() || what == "sampled" || what == "spgemm") sampled(gpu, by, stream, what != "spgemm");
    return 0;
}
