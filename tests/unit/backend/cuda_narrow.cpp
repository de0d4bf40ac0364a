// Every block that the kernels for few columns may have, at the rims of C and in parts of k.
#include "cuda.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/host.hpp>

#include <array>

namespace sg = stratagemm;
using namespace on_cuda;

namespace {

template <class T>
T number(sg::index_t x) {
    return static_cast<T>(static_cast<float>(x));
}

// C = A B with few columns; lines of A lie along k or along m, with gaps between them.
template <class T>
struct few {
    using Out = std::conditional_t<std::is_integral_v<T>, std::int32_t, T>;
    sg::cuda gpu;
    sg::index_t m, n, k;
    bool along_k;
    sg::matrix<Out> exact, now;
    sg::cuda::matrix<T> a, b;
    sg::cuda::matrix<Out> c;

    few(sg::index_t rows, sg::index_t columns, sg::index_t terms, sg::index_t gap, bool lies_along_k)
        : m(rows), n(columns), k(terms), along_k(lies_along_k), exact(m, n), now(m, n),
          a(gpu, along_k ? m : k, (along_k ? k : m) + gap), b(gpu, k, n), c(gpu, m, n) {
        auto const nan = std::is_integral_v<T> ? number<T>(99) : static_cast<T>(std::nanf(""));
        sg::index_t const length = along_k ? k : m;
        sg::matrix<T> const of_a(a.rows(), a.cols(), [&](auto i, auto j) {
            return j < length ? number<T>((3 * i + 2 * j) % 5 - 2) : nan;
        });
        sg::matrix<T> const of_b(k, n, [](auto i, auto j) { return number<T>((5 * i + j) % 3 - 1); });
        a.upload(of_a), b.upload(of_b);
        auto const view = of_a.view().block(0, 0, along_k ? m : k, length);
        sg::gemm(sg::host{}, along_k ? view : sg::transposed(view), of_b.view(), exact);
    }
    // The elements that one configuration gets wrong.
    template <class Engine>
    sg::index_t wrong(Engine const& engine, sg::cuda_way const& way) {
        auto const lines = a.view().block(0, 0, along_k ? m : k, along_k ? k : m);
        auto const p = sg::product(along_k ? lines : sg::transposed(lines), b.view(), c.view());
        sg::cuda_product<std::remove_cvref_t<decltype(p)>> product(sg::cuda_session::of(gpu.device), nullptr,
                                                                   p, false);
        sg::cuda_choice choice;
        static_cast<sg::cuda_way&>(choice) = way, choice.tile = engine;
        sg::footprint needs;
        product.take(choice);
        needs.device = product.workspace();
        auto memory = gpu.leaf().reserve(needs.device);
        c.upload(sg::matrix<Out>(m, n, [](auto, auto) { return number<Out>(77); }));
        REQUIRE(memory);
        REQUIRE(product.run(*memory));
        c.download(now);
        return different(now, exact);
    }
};

template <class T>
void check_all_blocks(sg::index_t n, bool along_k, sg::index_t gap, bool shifted = false) {
    sg::index_t const m = gap == 0 ? 264 : 261, k = gap == 0 ? 1008 : 1003;
    few<T> product(m, n, k, gap, along_k);
    sg::cuda_device const& d = product.gpu.where();
    sg::cuda_narrow_form form{along_k, sg::narrow_on_tensor_cores(sg::type_letter<T>(), d, n, along_k)};
    form.shifted = shifted || (!along_k && gap > 0);
    int turn = 0;
    sg::cuda_narrow::each_block(n, sizeof(T), sizeof(sg::accumulator_t<T>), form, [&](auto const& t) {
        sg::cuda_way way;
        way.shifted = shifted;
        // All of k at once, in parts, and in parts of a cluster, by turns.
        if (turn % 3 > 0) way.part = 416;
        way.together = turn++ % 3 == 2 && d.capability >= 90;
        CAPTURE(n, along_k, gap, t.m, t.micro_m, t.micro_n, t.slices, way.part, way.together);
        CHECK(product.wrong(t, way) == 0);
    });
}

} // namespace

TEST_CASE("few columns: all blocks of threads give the product") {
    for (bool const along_k : {true, false}) {
        check_all_blocks<float>(1, along_k, 0);
        check_all_blocks<float>(5, along_k, 1);
        check_all_blocks<double>(3, along_k, 1);
        check_all_blocks<std::int8_t>(2, along_k, 0);
    }
    check_all_blocks<sg::half>(1, false, 1);
    check_all_blocks<sg::half>(2, false, 0);
}

TEST_CASE("few columns: all blocks of tensor cores give the product") {
    if (sg::cuda{}.where().capability < 80) {
        WARN("skipped: no tensor cores for that");
        return;
    }
    check_all_blocks<sg::half>(3, true, 0);
    check_all_blocks<sg::half>(8, false, 0);
    check_all_blocks<sg::half>(3, false, 1);
    check_all_blocks<sg::half>(3, true, 1, true);
    check_all_blocks<std::int8_t>(4, true, 0);
}

TEST_CASE("few columns in order: all blocks give the same bits") {
    auto const check = [&]<class T>(T, sg::index_t n, bool along_k) {
        sg::index_t const k = 1003;
        few<T> product(70, n, k, 1, along_k);
        sg::cuda_query const q{.device = product.gpu.where(),
                               .type = sg::type_letter<T>(),
                               .element = sizeof(T),
                               .sides = {70, n, k, 1},
                               .layout = {.a_along_k = along_k},
                               .invariant = true};
        sg::cuda_way way;
        way.invariant = true, way.piece = q.order.piece;
        int turn = 0;
        sg::cuda_ordered::each_block(q, way.piece > 0 ? way.piece : k, [&](auto const& t) {
            if (turn++ % 41 > 0) return; // each is a kernel of its own
            CAPTURE(n, along_k, t.m, t.k, t.pieces, t.columns, t.stages, t.cluster);
            CHECK(product.wrong(t, way) == 0);
        });
    };
    for (bool const along_k : {true, false}) check(1.0f, 3, along_k);
    if (sg::cuda{}.where().capability == 90) check(1.0, 2, true), check(sg::half(), 5, true);
}

TEST_CASE("small products: all blocks give the products") {
    sg::cuda const gpu;
    auto const check = [&]<class T>(T, sg::index_t m, sg::index_t n, sg::index_t k) {
        sg::index_t const count = 37;
        sg::matrix<T> const a(m, k * count,
                              [](auto i, auto j) { return number<T>((3 * i + 2 * j) % 5 - 2); }),
            b(n, k * count, [](auto i, auto j) { return number<T>((5 * i + j) % 3 - 1); });
        sg::matrix<T> exact(m, n * count), now(m, n * count);
        sg::cuda::matrix<T> const da(gpu, a), db(gpu, b);
        sg::cuda::matrix<T> dc(gpu, m, n * count);
        auto p = sg::product(da.view().block(0, 0, m, k), sg::transposed(db.view().block(0, 0, n, k)),
                             dc.view().block(0, 0, m, n));
        p.count = count, p.a_step = p.b_step = k, p.c_step = p.e_step = n;
        for (sg::index_t i = 0; i < count; ++i)
            sg::gemm(sg::host{}, a.block(0, i * k, m, k), sg::transposed(b.block(0, i * k, n, k)),
                     exact.block(0, i * n, m, n));
        int turn = 0;
        sg::cuda_small::each_block({m, n, k, count}, sizeof(T), [&](sg::cuda_small const& t) {
            if (turn++ % 11 > 0) return; // each is a kernel of its own
            CAPTURE(m, n, k, t.micro_m, t.micro_n, t.products, t.stages);
            sg::cuda_product<std::remove_cvref_t<decltype(p)>> product(sg::cuda_session::of(gpu.device),
                                                                       nullptr, p, false);
            sg::cuda_choice choice;
            choice.tile = t;
            product.take(choice);
            sg::cuda_arena none;
            dc.upload(sg::matrix<T>(m, n * count, [](auto, auto) { return number<T>(77); }));
            REQUIRE(product.run(none));
            dc.download(now);
            CHECK(different(now, exact) == 0);
        });
    };
    check(1.0f, 7, 5, 3);
    check(1.0f, 32, 28, 31);
    check(1.0, 12, 32, 8);
    check(sg::half(), 18, 6, 32);
}
