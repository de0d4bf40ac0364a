// Products into sparse matrices on a CUDA device, against cuSPARSE: dense times dense at the places of a sparse C
// (SDDMM), sparse times sparse at the places of the product, and these places. All numbers are floats.
#include "sparse.hpp"

#include <stratagemm/structure/sampled.hpp>

namespace {

struct csr_there {
    sg::cuda::matrix<std::int32_t> begins, columns;
    device_matrix values;
    sg::csr<float, std::int32_t, sg::cuda::space> view;

    csr_there(sg::cuda const& gpu, host_csr const& a)
        : begins(gpu, 1, a.rows + 1), columns(gpu, 1, static_cast<index_t>(a.values.size())),
          values(gpu, 1, columns.cols()) {
        begins.upload(sg::row_major(a.begins.data(), 1, a.rows + 1));
        columns.upload(sg::row_major(a.columns.data(), 1, columns.cols()));
        values.upload(sg::row_major(a.values.data(), 1, columns.cols()));
        view = {a.rows, a.cols, begins.data(), columns.data(), values.data(), columns.cols()};
    }
};
template <class M>
void* address(M& m) {
    return const_cast<void*>(static_cast<void const*>(m.data().address));
}
std::vector<float> numbers(sg::cuda const& gpu, sg::cuda_pointer<float const> from, index_t count) {
    std::vector<float> all(static_cast<std::size_t>(count));
    gpu.leaf().download(from, all.data(), count).or_throw();
    return all;
}
// The largest difference over the largest number.
double apart(std::vector<float> const& x, std::vector<float> const& y) {
    double most = 0, largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        double const off = std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
        most = off <= most ? most : off; // NaN counts
        largest = std::max(largest, std::fabs(static_cast<double>(y[i])));
    }
    return largest > 0 ? most / largest : most;
}

struct sampling : cusparse {
    product at_places = get<product>(library, "cusparseSDDMM"),
            prepare_places = get<product>(library, "cusparseSDDMM_preprocess"),
            room_for_places = get<product>(library, "cusparseSDDMM_bufferSize");
    int (*create_product)(void**) = get<decltype(create_product)>(library, "cusparseSpGEMM_createDescr");
    int (*destroy_product)(void*) = get<decltype(destroy_product)>(library, "cusparseSpGEMM_destroyDescr");
    int (*destroy_matrix)(void*) = get<decltype(destroy_matrix)>(library, "cusparseDestroySpMat");
    using matrices = int (*)(void*, int, int, void*, void*, void*, int, void*, std::size_t*, void*);
    matrices estimate = get<matrices>(library, "cusparseSpGEMMreuse_workEstimation"),
             copy = get<matrices>(library, "cusparseSpGEMMreuse_copy");
    int (*count)(void*, int, int, void*, void*, void*, int, void*, std::size_t*, void*, std::size_t*, void*,
                 std::size_t*, void*) = get<decltype(count)>(library, "cusparseSpGEMMreuse_nnz");
    int (*compute)(void*, int, int, void const*, void*, void*, void const*, void*, int, int,
                   void*) = get<decltype(compute)>(library, "cusparseSpGEMMreuse_compute");
    int (*size)(void*, std::int64_t*, std::int64_t*,
                std::int64_t*) = get<decltype(size)>(library, "cusparseSpMatGetSize");
    int (*set_pointers)(void*, void*, void*, void*) = get<decltype(set_pointers)>(library,
                                                                                  "cusparseCsrSetPointers");
};

void dense_times_dense(sg::cuda const& gpu, race const& by, sampling& peer, bool there, char const* name,
                       host_csr const& places, index_t k, bool by_columns) {
    csr_there c(gpu, places), d(gpu, places);
    index_t const m = places.rows, n = places.cols, nonzeros = c.columns.cols();
    auto const order = by_columns ? sg::layout::col_major : sg::layout::row_major;
    device_matrix x(gpu, m, k), y(gpu, k, n, order);
    x.upload(sg::matrix<float>(
        m, k, [](index_t i, index_t j) { return static_cast<float>((i * 31 + j * 7) % 17 - 8); }));
    y.upload(sg::matrix<float>(
        k, n, [](index_t i, index_t j) { return static_cast<float>((i * 5 + j * 3) % 13 - 6); }));
    auto const to = sg::sampled(c.view, c.values.data());
    auto const p = sg::product(x, y, to);
    sg::plan const plan(gpu, p.shape());
    auto memory = plan.reserve();
    std::vector<way> ways;
    ways.push_back({"stratagemm", [&](int) { plan.run(p, memory); }, false});
    float const one = 1, zero = 0;
    void *matrix = nullptr, *dense_x = nullptr, *dense_y = nullptr;
    std::vector<device_matrix> rooms;
    if (there) {
        check(peer.create_csr(&matrix, m, n, nonzeros, address(d.begins), address(d.columns),
                              address(d.values), 2, 2, 0, 0),
              "cusparseCreateCsr");
        check(peer.create_matrix(&dense_x, m, k, k, address(x), 0, 2), "a matrix");
        check(peer.create_matrix(&dense_y, k, n, by_columns ? k : n, address(y), 0, by_columns ? 1 : 2),
              "a matrix");
        std::size_t bytes = 0;
        check(peer.room_for_places(peer.handle, 0, 0, &one, dense_x, dense_y, &zero, matrix, 0, 0, &bytes),
              "cusparseSDDMM_bufferSize");
        rooms.emplace_back(gpu, 1, static_cast<index_t>(bytes / 4 + 64));
        void* const room = address(rooms.back());
        check(peer.prepare_places(peer.handle, 0, 0, &one, dense_x, dense_y, &zero, matrix, 0, 0, room),
              "cusparseSDDMM_preprocess");
        auto const call = [&, room] {
            return peer.at_places(peer.handle, 0, 0, &one, dense_x, dense_y, &zero, matrix, 0, 0, room);
        };
        if (call() == 0 && by.can_hold(call))
            ways.push_back({"cuSPARSE", [call](int) { check(call(), "cusparseSDDMM"); }});
    }
    by.run(ways, 1, 3);
    double const own = median(ways[0].seconds),
                 read = static_cast<double>(nonzeros) * static_cast<double>(k) * 4;
    std::printf("%-16s k %4td  Y by %s  %9.1f us  %6.2f TB/s of Y", name, k,
                by_columns ? "columns" : "rows   ", own * 1e6, read / own / 1e12);
    if (ways.size() > 1)
        std::printf("  cuSPARSE %9.1f us  ratio %.2f  apart %.1g", median(ways[1].seconds) * 1e6,
                    median(ways[1].seconds) / own,
                    apart(numbers(gpu, c.values.data(), nonzeros), numbers(gpu, d.values.data(), nonzeros)));
    std::printf("\n");
}

void sparse_times_sparse(sg::cuda const& gpu, race const& by, sampling& peer, bool there, char const* name,
                         host_csr const& of_a, graphs const& g, graphs::stream stream) {
    csr_there a(gpu, of_a);
    double const begin = now();
    auto c = sg::pattern(gpu, a.view, a.view);
    double const first = now() - begin;
    std::vector<double> patterns;
    for (int i = 0; i < 3; ++i) {
        double const again = now();
        c = sg::pattern(gpu, a.view, a.view);
        patterns.push_back(now() - again);
    }
    auto const p = sg::product(a.view, a.view, sg::sampled(c));
    sg::plan const plan(gpu, p.shape());
    auto memory = plan.reserve();
    std::vector<way> ways;
    ways.push_back({"stratagemm", [&](int) { plan.run(p, memory); }, false});
    double products = 0;
    for (std::int32_t const k : of_a.columns)
        products += of_a.begins[static_cast<std::size_t>(k) + 1] - of_a.begins[static_cast<std::size_t>(k)];
    index_t const nonzeros = c.view().nonzeros;
    float const one = 1, zero = 0;
    std::vector<device_matrix> rooms;
    auto const room = [&](std::size_t bytes) {
        rooms.emplace_back(gpu, 1, static_cast<index_t>(bytes / 4 + 64));
        return address(rooms.back());
    };
    void *matrix = nullptr, *result = nullptr, *descriptor = nullptr, *values = nullptr;
    std::vector<double> structures;
    sg::cuda::matrix<std::int32_t> begins(gpu, 1, of_a.rows + 1);
    if (there && peer.create_product && peer.compute) {
        auto const csr_of = [&](void*& to, index_t size, void* of_begins, void* columns, void* numbers) {
            check(peer.create_csr(&to, of_a.rows, of_a.cols, size, of_begins, columns, numbers, 2, 2, 0, 0),
                  "cusparseCreateCsr");
        };
        csr_of(matrix, a.columns.cols(), address(a.begins), address(a.columns), address(a.values));
        auto const find_structure = [&] {
            csr_of(result, 0, address(begins), nullptr, nullptr);
            check(peer.create_product(&descriptor), "cusparseSpGEMM_createDescr");
            std::size_t b1 = 0, b2 = 0, b3 = 0, b4 = 0, b5 = 0;
            auto const estimate = [&](void* at) {
                check(peer.estimate(peer.handle, 0, 0, matrix, matrix, result, 0, descriptor, &b1, at),
                      "workEstimation");
            };
            estimate(nullptr), estimate(room(b1));
            auto const count = [&](void* x2, void* x3, void* x4) {
                check(peer.count(peer.handle, 0, 0, matrix, matrix, result, 0, descriptor, &b2, x2, &b3, x3,
                                 &b4, x4),
                      "nnz");
            };
            count(nullptr, nullptr, nullptr);
            void *const x2 = room(b2), *const x3 = room(b3), *const x4 = room(b4);
            count(x2, x3, x4);
            std::int64_t rows = 0, cols = 0, size = 0;
            check(peer.size(result, &rows, &cols, &size), "cusparseSpMatGetSize");
            if (size != nonzeros)
                std::printf("DIFFERENT: %td places, cuSPARSE has %td\n", nonzeros, index_t{size});
            values = room(static_cast<std::size_t>(size) * 4);
            check(
                peer.set_pointers(result, address(begins), room(static_cast<std::size_t>(size) * 4), values),
                "cusparseCsrSetPointers");
            check(peer.copy(peer.handle, 0, 0, matrix, matrix, result, 0, descriptor, &b5, nullptr), "copy");
            check(peer.copy(peer.handle, 0, 0, matrix, matrix, result, 0, descriptor, &b5, room(b5)), "copy");
            check(g.wait(stream), "the structure of cuSPARSE");
        };
        for (int i = 0; i < 3; ++i) {
            if (i > 0) {
                check(peer.destroy_product(descriptor), "cusparseSpGEMM_destroyDescr");
                check(peer.destroy_matrix(result), "cusparseDestroySpMat");
                rooms.clear();
            }
            double const start = now();
            find_structure();
            structures.push_back(now() - start);
        }
        auto const call = [&] {
            return peer.compute(peer.handle, 0, 0, &one, matrix, matrix, &zero, result, 0, 0, descriptor);
        };
        if (call() == 0 && by.can_hold(call))
            ways.push_back({"cuSPARSE", [call](int) { check(call(), "cusparseSpGEMMreuse_compute"); }});
        by.run(ways, 1, 3);
    } else {
        by.run(ways, 1, 3);
    }
    double const own = median(ways[0].seconds);
    std::printf("%-16s %.3g products, %.3g places  values %9.1f us, %5.1f G products/s  pattern %9.1f us "
                "(first %.0f)",
                name, products, static_cast<double>(nonzeros), own * 1e6, products / own * 1e-9,
                median(patterns) * 1e6, first * 1e6);
    if (ways.size() > 1)
        std::printf("  cuSPARSE %9.1f us  ratio %.2f  apart %.1g", median(ways[1].seconds) * 1e6,
                    median(ways[1].seconds) / own,
                    apart(numbers(gpu, c.view().values, nonzeros),
                          numbers(gpu, {static_cast<float*>(values)}, nonzeros)));
    if (!structures.empty())
        std::printf("  its structure %.1f us  ratio %.2f", median(structures) * 1e6,
                    median(structures) / median(patterns));
    std::printf("\n");
}

} // namespace

void sampled(sg::cuda const& gpu, race const& by, graphs::stream stream, bool of_dense) {
    sampling peer;
    graphs const g;
    bool const there = peer.at_places && peer.prepare_places && peer.create(&peer.handle) == 0 &&
                       peer.set_stream(peer.handle, stream) == 0;
    if (!there) std::printf("cuSPARSE is not here\n");
    auto const uniform = [](index_t side, double density) {
        return make_csr(side, side,
                        [=](index_t) { return static_cast<index_t>(density * static_cast<double>(side)); });
    };
    struct sample {
        char const* name;
        host_csr a;
    };
    std::vector<sample> samples;
    samples.push_back({"uniform 0.1%", uniform(8192, 0.001)});
    samples.push_back({"uniform 1%", uniform(8192, 0.01)});
    samples.push_back({"uniform 10%", uniform(8192, 0.1)});
    samples.push_back({"power law", make_csr(8192, 8192, [](index_t i) {
                           return static_cast<index_t>(
                               4 + 4000 / std::pow(1.0 + static_cast<double>(i * 2654435761u % 8192), 0.7));
                       })});
    samples.push_back({"banded 33", make_csr(
                                        100000, 100000, [](index_t) { return index_t{33}; }, true)});
    samples.push_back({"uniform, large", make_csr(200000, 200000, [](index_t) { return index_t{32}; })});
    if (of_dense) {
        std::printf("sampled: X Y at the places of C\n");
        for (sample const& s : samples)
            for (index_t const k : {32, 64, 128, 512})
                for (bool const by_columns : {true, false}) {
                    if (k > 128 && s.a.rows > 10000) continue;
                    dense_times_dense(gpu, by, peer, there, s.name, s.a, k, by_columns);
                }
    }
    std::printf("sampled: A A, sparse\n");
    samples.push_back({"uniform, long", make_csr(1000000, 1000000, [](index_t) { return index_t{8}; })});
    for (sample const& s : samples)
        if (static_cast<double>(s.a.values.size()) * static_cast<double>(s.a.values.size()) /
                static_cast<double>(s.a.rows) <
            1e9)
            sparse_times_sparse(gpu, by, peer, there, s.name, s.a, g, stream), std::fflush(stdout);
}
