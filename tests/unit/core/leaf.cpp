// Leaves with none, one and all of the capabilities.
#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/host.hpp>
#include <stratagemm/backend/reference.hpp>

namespace sg = stratagemm;

namespace {

using space = sg::host_memory;

struct plain {
    template <class From, class To>
    sg::status copy(From, To) const;
    template <class X, class Y, class To>
    sg::status add(X, Y, To) const;
    template <class To, class T>
    sg::status fill(To, T) const;
    template <class F, class To>
    sg::status apply(F const&, To, sg::index_t, sg::index_t) const;
    sg::status synchronize() const;
};
struct without_add : plain {
    template <class X, class Y, class To>
    sg::status add(X, Y, To) const = delete;
};
struct with_threads : plain {
    int team(double) const;
    template <class F>
    void each(int, int, F const&) const;
};
struct with_tiles : with_threads {
    bool has_tiles() const;
    double tile_rate() const;
};
template <class Base>
struct with_kernels : Base {
    static constexpr char const* layer = "with kernels";
    template <class T>
    struct epilogue {
        template <class F>
        explicit epilogue(F const&);
        std::string definitions() const;
    };
    template <class... Arguments>
    sg::status launch(sg::device_kernel const&, sg::index_t, Arguments const&...) const;
    sg::device_limits limits() const;
    template <class T>
    sg::status upload(T const*, T*, sg::index_t) const;
    template <class T>
    sg::status download(T const*, T*, sg::index_t) const;
};
struct queued : with_kernels<with_tiles> {
    struct event {};
    struct block {
        std::byte* data() const;
    };
    sg::result<queued> fork() const;
    sg::result<event> record() const;
    sg::status wait(event const&) const;
    using plain::synchronize;
    sg::status synchronize(event const&) const;
    template <class From, class To>
    sg::status copy_async(From, To) const;
    sg::result<block> pin(std::size_t) const;
    bool reads_itself(void const*) const;
};

// Which of the concepts hold.
template <class L>
constexpr int capabilities() {
    return (sg::leaf<L, space> ? 1 : 0) | (sg::host_leaf<L> ? 2 : 0) | (sg::tiled_host_leaf<L> ? 4 : 0) |
           (sg::device_leaf<L, space> ? 8 : 0) | (sg::queued_leaf<L, space> ? 16 : 0);
}

} // namespace

TEST_CASE("each capability of a leaf is a concept of its own") {
    static_assert(capabilities<int>() == 0);
    static_assert(capabilities<without_add>() == 0);
    static_assert(capabilities<plain>() == 1);
    static_assert(capabilities<with_threads>() == 3);
    static_assert(capabilities<with_tiles>() == 7);
    static_assert(capabilities<with_kernels<plain>>() == 9);
    static_assert(capabilities<queued>() == 31);
    // A policy whose leaf lacks an operation is none.
    static_assert(capabilities<sg::leaf_of<sg::reference>>() == 3);
#if defined(__x86_64__)
    static_assert(capabilities<sg::leaf_of<sg::host>>() == 7);
#endif
    SUCCEED();
}

namespace {
struct crippled : sg::reference {
    without_add leaf() const { return {}; }
};
struct silent : sg::reference {
    void describe(int) const {}
};
} // namespace

TEST_CASE("a policy is checked as a whole") {
    static_assert(sg::policy<sg::reference> && sg::policy<sg::host>);
    static_assert(!sg::policy<crippled>);
    static_assert(!sg::policy<silent>);
    SUCCEED();
}

TEST_CASE("a host leaf does each part once, with at most the threads of its team") {
    sg::host const cpu{3};
    auto const leaf = cpu.leaf();
    CHECK(leaf.team(1) == 1);
    CHECK(leaf.team(1e12) >= 1);
    CHECK(leaf.team(1e12) <= 3);
    std::vector<int> done(100), by(100, -1);
    leaf.each(3, 100, [&](int thread, int part) {
        ++done[static_cast<std::size_t>(part)];
        by[static_cast<std::size_t>(part)] = thread;
    });
    for (std::size_t i = 0; i < 100; ++i) {
        CHECK(done[i] == 1);
        CHECK((by[i] >= 0 && by[i] < 3));
    }
}
