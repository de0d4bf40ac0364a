#include "catch.hpp"
#include "child.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/host.hpp>

#include <atomic>
#include <thread>

#ifdef _OPENMP
#    include <pthread.h>
#endif

namespace sg = stratagemm;

namespace {

// How often each part was done, and by how many threads at most at a time under one number.
struct parts_done {
    std::vector<std::atomic<int>> times, inside;
    std::atomic<bool> collide{false};

    parts_done(int parts, int threads)
        : times(static_cast<std::size_t>(parts)), inside(static_cast<std::size_t>(threads)) {}
    void operator()(int thread, int x) {
        auto& own = inside.at(static_cast<std::size_t>(thread));
        if (++own > 1) collide = true;
        ++times.at(static_cast<std::size_t>(x));
        --own;
    }
    bool once() const {
        for (auto const& n : times)
            if (n != 1) return false;
        return !collide;
    }
};

bool each_part_once(int team, int parts) {
    parts_done done(parts, team < 1 ? 1 : team);
    sg::host_each(team, parts, [&](int thread, int x) { done(thread, x); });
    return done.once();
}

sg::matrix<float> made(sg::index_t rows, sg::index_t cols, int seed) {
    return sg::matrix<float>(
        rows, cols, [&](auto i, auto j) { return static_cast<float>((i * 7 + j * 3 + seed) % 11 - 5); });
}

} // namespace

TEST_CASE("a team does each part once, and no two threads have one number") {
    for (int team : {1, 2, 3, 5, 8})
        for (int parts : {0, 1, 2, 3, 7, 100}) {
            CAPTURE(team, parts);
            for (int again = 0; again < 20; ++again) CHECK(each_part_once(team, parts));
        }
}

TEST_CASE("teams at the same time, and teams within teams, do their own parts") {
    std::atomic<bool> right{true};
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i)
        callers.emplace_back([&, i] {
            for (int again = 0; again < 50; ++again)
                if (!each_part_once(2 + i % 3, 1 + (again + i) % 9)) right = false;
        });
    for (std::thread& t : callers) t.join();
    CHECK(right);
    sg::host_each(3, 3, [&](int, int) {
        if (!each_part_once(3, 5)) right = false;
    });
    CHECK(right);
}

TEST_CASE("concurrent products with threads of their own are right") {
    sg::matrix<float> const a = made(150, 170, 1), b = made(170, 130, 2);
    sg::matrix<float> const expected = support::product_of(a, b);
    std::atomic<bool> right{true};
    std::vector<std::thread> callers;
    for (int i = 0; i < 3; ++i)
        callers.emplace_back([&, i] {
            sg::matrix<float> c(150, 130);
            for (int again = 0; again < (support::sanitized ? 5 : 30); ++again) {
                sg::gemm(sg::host{.threads = 1 + i}, a, b, c);
                if (!support::equal(c, expected)) right = false;
            }
        });
    for (std::thread& t : callers) t.join();
    CHECK(right);
}

TEST_CASE("a batch of fewer products than threads stays within its matrices") {
    for (int threads : {2, 3, 4, 7})
        for (sg::index_t count : {1, 2, 3, 5}) {
            CAPTURE(threads, count);
            constexpr sg::index_t n = 64, guard = 4096;
            sg::matrix<float> const a = made(n * count, n, 3), b = made(n * count, n, 4);
            std::vector<float> c(static_cast<std::size_t>(n * n * count + 2 * guard), 99.0f);
            auto const of = [&]<class T>(T* data) {
                return sg::batch<T>{sg::row_major(data, n, n), count, n * n};
            };
            // With many calls the shape gets a kernel of its own.
            for (int again = 0; again < 200; ++again)
                sg::gemm(sg::host{.threads = threads}, of(a.data()), of(b.data()), of(c.data() + guard));
            bool guarded = true, right = true;
            for (sg::index_t i = 0; i < guard; ++i)
                guarded = guarded && c[static_cast<std::size_t>(i)] == 99.0f &&
                          c[c.size() - 1 - static_cast<std::size_t>(i)] == 99.0f;
            for (sg::index_t x = 0; x < count; ++x)
                for (sg::index_t i = 0; i < n; i += 21)
                    for (sg::index_t j = 0; j < n; j += 13) {
                        float sum = 0;
                        for (sg::index_t l = 0; l < n; ++l) sum += a(x * n + i, l) * b(x * n + l, j);
                        right = right && c[static_cast<std::size_t>(guard + (x * n + i) * n + j)] == sum;
                    }
            CHECK(guarded);
            CHECK(right);
        }
}

#ifdef _OPENMP

TEST_CASE("the quota of a container is a number of processors, rounded up") {
    CHECK(sg::processors_of_quota("max 100000\n") == 0);
    CHECK(sg::processors_of_quota("200000 100000\n") == 2);
    CHECK(sg::processors_of_quota("250000 100000\n") == 3);
    CHECK(sg::processors_of_quota("10000 100000\n") == 1);
    CHECK(sg::processors_of_quota("") == 0);
    CHECK(sg::processors_of_quota("0 0") == 0);
    CHECK(sg::processors_of_quota("-1 100000") == 0);
    CHECK(sg::processors_of_container() >= 0);
    CHECK(sg::offered_threads() >= 1);
}

TEST_CASE("products within a part of another product have one thread") {
    std::atomic<int> most{0};
    sg::host_each(3, 9, [&](int, int) {
        int const threads = sg::host_threads(0);
        for (int before = most; threads > before && !most.compare_exchange_weak(before, threads);) {
        }
    });
    CHECK(most == 1);
}

TEST_CASE("a stack of 128 KiB is enough to multiply") {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    auto const multiply = [](void*) -> void* {
        auto const with = []<class T, class To>(T, To) {
            for (sg::index_t n : {3, 40, 200})
                for (sg::index_t few : {sg::index_t{1}, sg::index_t{5}, n}) {
                    sg::matrix<T> const a(n, n), b(n, few);
                    sg::matrix<To> c(n, few), d(few, n);
                    sg::gemm(sg::host{.threads = 2}, a, b, c);
                    sg::gemm(sg::host{.threads = 1}, sg::transposed(a), b, c);
                    sg::gemm(sg::host{.threads = 1}, sg::transposed(b), sg::transposed(a), d);
                }
        };
        with(float{}, float{}), with(double{}, double{}), with(sg::half{}, float{});
        with(sg::bfloat16{}, float{}), with(std::int8_t{}, std::int32_t{});
        return nullptr;
    };
    pthread_t thread;
    REQUIRE(pthread_create(&thread, &small, multiply, nullptr) == 0);
    CHECK(pthread_join(thread, nullptr) == 0);
    pthread_attr_destroy(&small);
}

TEST_CASE("a child of fork multiplies after its parent did so with threads") {
    sg::matrix<float> const a = made(300, 200, 5), b = made(200, 250, 6);
    sg::matrix<float> expected(300, 250);
    for (int again = 0; again < 5; ++again) sg::gemm(sg::host{.threads = 3}, a, b, expected);
    // Twice: in the child of a child as well.
    auto const right_in_child = [&](auto const& self, int generations) -> bool {
        pid_t const child = fork();
        if (child == 0) {
            alarm(30); // a child that waits for ever fails
            sg::matrix<float> c(300, 250);
            bool right = true;
            for (int again = 0; again < 3; ++again) {
                sg::gemm(sg::host{.threads = 3}, a, b, c);
                right = right && support::same_bits(c, expected);
            }
            if (generations > 1) right = right && self(self, generations - 1);
            _exit(right ? 0 : 1);
        }
        return support::wait_for(child) == 0;
    };
    CHECK(right_in_child(right_in_child, 2));
    CHECK(right_in_child(right_in_child, 1));
}

#endif
