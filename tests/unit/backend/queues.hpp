// What every device's queues have to do: order by events, and copies of blocks between host and device.
#pragma once

#include "catch.hpp"

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/backend/reference.hpp>
#include <stratagemm/core/leaf.hpp>
#include <stratagemm/gemm.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <vector>

namespace queues {

namespace sg = stratagemm;
using sg::index_t;

// Strides of a matrix, and room around it.
struct lie {
    index_t row, col;
    index_t first = 3, elements = 0; // in the buffer

    lie(index_t rows, index_t cols, index_t row_stride, index_t col_stride)
        : row(row_stride), col(col_stride) {
        index_t const low = (rows - 1) * (row < 0 ? row : 0) + (cols - 1) * (col < 0 ? col : 0),
                      high = (rows - 1) * (row > 0 ? row : 0) + (cols - 1) * (col > 0 ? col : 0);
        first -= low, elements = first + high + 1 + 5;
    }
};
// Each way in which a matrix can lie: without gaps, with, in both orders, with both strides odd, and backwards.
inline std::vector<lie> ways(index_t rows, index_t cols) {
    std::vector<lie> all;
    for (auto const& [r, c] : {std::array<index_t, 2>{cols, 1},
                               {1, rows},
                               {cols + 3, 1},
                               {1, rows + 2},
                               {3 * cols + 1, 3},
                               {2, 2 * rows + 5},
                               {-cols - 1, 1},
                               {-1, -rows},
                               {cols, -1}})
        all.emplace_back(rows, cols, r, c);
    return all;
}

// Memory with every byte set, on the device or on the host.
template <class T>
std::vector<T> guarded(index_t count) {
    std::vector<T> v(static_cast<std::size_t>(count));
    std::memset(static_cast<void*>(v.data()), 0x5c, v.size() * sizeof(T));
    return v;
}
template <class T>
bool same_bytes(T const* x, T const* y, std::size_t count) {
    return std::memcmp(x, y, count * sizeof(T)) == 0;
}
template <class T>
void write(T* data, lie const& at, index_t rows, index_t cols) {
    for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < cols; ++j)
            data[at.first + i * at.row + j * at.col] =
                static_cast<T>(static_cast<float>(i * 7 + j * 3 % 50 - 20));
}

// A block there and back, for each way in which it can lie on either side; all else stays as it was.
template <class T, class Policy>
int wrong_copies(Policy const& gpu, index_t rows, index_t cols, bool pinned) {
    auto const leaf = gpu.leaf();
    using space = typename Policy::space;
    int wrong = 0;
    for (lie const& here : ways(rows, cols))
        for (lie const& there : ways(rows, cols)) {
            auto const count = static_cast<std::size_t>(here.elements);
            std::vector<T> own(count);
            auto block = leaf.pin(pinned ? count * sizeof(T) : 0);
            T* const host = pinned ? reinterpret_cast<T*>(block->data()) : own.data();
            auto const untouched = guarded<T>(here.elements);
            std::copy(untouched.begin(), untouched.end(), host);
            write(host, here, rows, cols);

            auto expected = guarded<T>(there.elements), found = expected;
            sg::footprint f;
            f.device = expected.size() * sizeof(T);
            auto memory = gpu.reserve(f);
            memory.or_throw();
            auto const device = memory->template take<T>(there.elements);
            leaf.upload(expected.data(), device, there.elements).or_throw();
            write(expected.data(), there, rows, cols);

            sg::view<T> const h{host + here.first, rows, cols, here.row, here.col};
            sg::view<T, space> const d{device + there.first, rows, cols, there.row, there.col};
            leaf.copy_async(sg::view<T const>(h), d).or_throw();
            leaf.download(device, found.data(), there.elements).or_throw();
            wrong += !same_bytes(found.data(), expected.data(), found.size());

            std::vector<T> const before(host, host + count);
            std::copy(untouched.begin(), untouched.end(), host);
            leaf.copy_async(sg::view<T const, space>(d), h).or_throw();
            leaf.synchronize().or_throw();
            wrong += !same_bytes<T>(host, before.data(), count);
        }
    return wrong;
}

// Matrices of several pieces, and lines that are longer than one.
template <class Policy>
int wrong_large_copies(Policy const& gpu) {
    auto const leaf = gpu.leaf();
    using space = typename Policy::space;
    int wrong = 0;
    for (auto const& [rows, cols, pitch] :
         {std::array<index_t, 3>{1500, 1400, 1431}, {3, 1300000, 1300001}, {1200000, 2, 3}}) {
        index_t const m = rows, n = cols;
        sg::matrix<float> a(m, pitch,
                            [n](index_t i, index_t j) { return j < n ? static_cast<float>(i + 3 * j) : -1; });
        sg::matrix<float> b(n, m + 1, [](index_t, index_t) { return -2; });
        typename Policy::template matrix<float> there(gpu, m, n), turned(gpu, m, n, sg::layout::col_major);
        auto const from = a.block(0, 0, m, n);
        for (auto const& [d, to] : {std::pair{there.view(), a.block(0, 0, m, n)},
                                    {there.view(), sg::transposed(b.block(0, 1, n, m))},
                                    {turned.view(), sg::transposed(b.block(0, 1, n, m))}}) {
            leaf.copy_async(sg::view<float const>(from), d).or_throw();
            leaf.copy_async(sg::view<float const, space>(d), to).or_throw();
            leaf.synchronize().or_throw();
            for (index_t i = 0; i < m; ++i)
                for (index_t j = 0; j < n; ++j) wrong += to(i, j) != static_cast<float>(i + 3 * j);
        }
        for (index_t i = 0; i < m; ++i) wrong += a(i, n) != -1;
        for (index_t j = 0; j < n; ++j) wrong += b(j, 0) != -2;
    }
    return wrong;
}

// A goes there on one queue, B on another, the product waits for both, and C comes back on a third.
template <class Policy>
int wrong_products(Policy const& gpu, bool pinned) {
    using space = typename Policy::space;
    index_t const m = 70, n = 50, k = 60;
    auto const main = gpu.leaf();
    auto first = main.fork(), second = main.fork(), back = main.fork();
    first.or_throw(), second.or_throw(), back.or_throw();
    typename Policy::template matrix<float> da(gpu, m, k), db(gpu, k, n), dc(gpu, m, n);
    auto room = main.pin(pinned ? static_cast<std::size_t>(m * k + k * n + m * n) * sizeof(float) : 0);
    room.or_throw();
    std::vector<float> own(static_cast<std::size_t>(m * k + k * n + m * n));
    float* const at = pinned ? reinterpret_cast<float*>(room->data()) : own.data();
    auto const a = sg::row_major(at, m, k), b = sg::row_major(at + m * k, k, n),
               c = sg::row_major(at + m * k + k * n, m, n);
    int wrong = 0;
    for (int times = 0; times < 10; ++times) {
        for (index_t i = 0; i < m * k + k * n; ++i) at[i] = static_cast<float>((i * (times + 3)) % 11 - 5);
        sg::matrix<float> exact(m, n);
        sg::gemm(sg::reference{}, a, b, exact);
        first->copy_async(sg::view<float const>(a), da.view()).or_throw();
        second->copy_async(sg::view<float const>(b), db.view()).or_throw();
        for (auto* one : {&*first, &*second}) {
            auto arrived = one->record();
            arrived.or_throw();
            main.wait(*arrived).or_throw(); // the event may go: what waits has been queued
        }
        sg::gemm(gpu, da, db, dc);
        auto done = main.record();
        done.or_throw();
        auto const copy = *done;
        *done = {};
        back->wait(copy).or_throw();
        back->copy_async(sg::view<float const, space>(dc.view()), c).or_throw();
        auto arrived = back->record();
        arrived.or_throw();
        back->synchronize(*arrived).or_throw();
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j) wrong += c(i, j) != exact(i, j);
        // What is written next on the two queues comes after the product has read it.
        first->wait(copy).or_throw();
        second->wait(copy).or_throw();
    }
    return wrong;
}

// A queue goes, and what was queued on it is done all the same.
template <class Policy>
void check_ends(Policy const& gpu) {
    typename Policy::template matrix<float> there(gpu, 30, 40);
    sg::matrix<float> const a(30, 40, [](index_t i, index_t j) { return static_cast<float>(40 * i + j); });
    sg::matrix<float> back(30, 40);
    typename decltype(gpu.leaf())::event last{};
    gpu.leaf().wait(last).or_throw(); // was never recorded
    gpu.leaf().synchronize(last).or_throw();
    {
        auto fork = gpu.leaf().fork();
        fork.or_throw();
        auto const copy = *fork; // of the leaf: the same queue
        *fork = gpu.leaf();
        copy.copy_async(a.view(), there.view()).or_throw();
        auto const again = copy;
        auto e = again.record();
        e.or_throw();
        last = *e;
    }
    gpu.leaf().wait(last).or_throw();
    there.download(back);
    CHECK(same_bytes(back.data(), a.data(), 1200));
    {
        auto fork = gpu.leaf().fork();
        fork.or_throw();
        auto next = fork->fork(); // outlives the one that it was made by
        next.or_throw();
        auto const other = *next;
        *fork = gpu.leaf();
        other.fill(there.view(), 3.0f).or_throw();
        other.synchronize().or_throw();
    }
    there.download(back);
    CHECK(back(29, 39) == 3);
}

template <class Policy>
void check_errors(Policy const& gpu) {
    using space = typename Policy::space;
    auto const leaf = gpu.leaf();
    sg::matrix<float> const a(6, 5, [](index_t, index_t) { return 1; });
    sg::matrix<float> back(6, 5, [](index_t, index_t) { return 7; });
    typename Policy::template matrix<float> there(gpu, back);
    auto const untouched = [&] {
        sg::matrix<float> now(6, 5);
        there.download(now);
        return now(0, 0) == 7 && back(0, 0) == 7;
    };
    auto const code = [](sg::status const& s) { return s ? sg::errc{255} : s.error().code(); };
    CHECK(code(leaf.copy_async(a.block(0, 0, 5, 5), there.view())) == sg::errc::shape);
    CHECK(code(leaf.copy_async(sg::view<float const, space>(there.block(0, 0, 6, 4)), back.view())) ==
          sg::errc::shape);
    CHECK(code(leaf.copy_async(sg::scaled(2, a), there.view())) == sg::errc::argument);
    CHECK(code(leaf.copy_async(sg::conjugated(a), there.view())) == sg::errc::argument);
    CHECK(code(leaf.copy_async(sg::scaled(2, sg::view<float const, space>(there.view())), back.view())) ==
          sg::errc::argument);
    CHECK(untouched());
    // Nothing to copy: no memory is needed.
    CHECK(leaf.copy_async(sg::view<float const>{nullptr, 0, 5, 5, 1}, there.block(0, 0, 0, 5)));
    CHECK(leaf.copy_async(sg::view<float const, space>(there.block(0, 0, 6, 0)),
                          sg::view<float>{nullptr, 6, 0, 0, 1}));
    CHECK(untouched());

    auto none = leaf.pin(0);
    REQUIRE(none);
    CHECK(none->size() == 0);
    auto const huge = leaf.pin(std::size_t{1} << 60);
    REQUIRE(!huge);
    CHECK(huge.error().code() == sg::errc::memory);
    CHECK(huge.error().native_code() != 0);
    auto some = leaf.pin(100000);
    REQUIRE(some);
    auto const shared = *some;
    *some = {};
    std::memset(shared.data(), 1, shared.size());
    CHECK(shared.data()[99999] == std::byte{1});
}

// Operands on the host that lie in many ways, and batches of them; all of the memory around C is compared.
template <class T, class Policy>
int wrong_staged(Policy const& gpu) {
    struct way {
        index_t row, col, step;
    };
    index_t const m = 9, n = 7, k = 8, count = 3;
    auto const of = [&](index_t rows, index_t cols) {
        return std::vector<way>{{cols, 1, rows * cols}, // one after the other
                                {1, rows, rows * cols},
                                {cols, 1, rows * cols + 5}, // gaps between matrices
                                {1, rows, rows * cols + 5},
                                {cols + 3, 1, rows * (cols + 3)}, // gaps between lines
                                {1, rows + 3, cols * (rows + 3)},
                                {cols + 2, 1, rows * (cols + 2) + 7},      // both
                                {count * cols, 1, cols},                   // side by side
                                {2, 2 * rows + 1, cols * (2 * rows + 1)}}; // no lines
    };
    auto const span = static_cast<std::size_t>(1000);
    std::vector<T> a(span), b(span), e(span);
    for (std::size_t i = 0; i < span; ++i)
        a[i] = T(static_cast<float>(i % 7) - 3), b[i] = T(static_cast<float>(i % 5) - 2),
        e[i] = T(static_cast<float>(i % 11) - 5);
    auto const lie = [&](T* data, index_t rows, index_t cols, way const& w, index_t step) {
        return sg::batched(sg::strided(data, rows, cols, w.row, w.col), count, step);
    };
    int wrong = 0;
    auto const wa = of(m, k), wb = of(k, n), wc = of(m, n);
    for (std::size_t x = 0; x < wa.size(); ++x)
        for (std::size_t y = 0; y < 3; ++y) {
            way const &of_b = wb[(x + 2 * y) % wb.size()], &of_c = wc[(x + y) % wc.size()];
            auto const as = lie(a.data(), m, k, wa[x], y == 1 ? 0 : wa[x].step);
            auto const bs = lie(b.data(), k, n, of_b, of_b.step);
            auto const es = lie(e.data(), m, n, wc[x], wc[x].step);
            std::vector<T> found = guarded<T>(1000), expected = found;
            auto const multiply = [&](auto const& policy, T* c) {
                auto const cs = lie(c, m, n, of_c, of_c.step);
                if (y == 0)
                    sg::gemm(policy, as, sg::conjugated(bs), cs);
                else
                    sg::gemm(policy, 2.0f, as, bs, 3.0f, es, cs);
            };
            multiply(sg::staged{gpu}, found.data());
            multiply(sg::reference{}, expected.data());
            wrong += !same_bytes(found.data(), expected.data(), 1000);
        }
    return wrong;
}

} // namespace queues
