#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/core/keep.hpp>
#include <stratagemm/stratagemm.hpp>

#include <utility>

namespace sg = stratagemm;

namespace {

int alive = 0;

struct counted {
    int value = 0;
    explicit counted(int x) : value(x) { ++alive; }
    counted(counted&& other) noexcept : value(other.value) { ++alive; }
    counted(counted const&) = delete;
    ~counted() { --alive; }
};

// An operand of its own, n x n, which is a factor times the identity; what is kept is the factor.
template <class T>
struct diagonal_form {
    using value_type = T;
    static constexpr bool has_facts = true;
    template <class P>
    requires P::is_backend using over = sg::product_over<P>;

    T factor{};
};
template <class T>
struct diagonal {
    using value_type = T;
    using space = sg::host_memory;
    using form = diagonal_form<T>;
    static constexpr int most_views = 1;

    sg::index_t rows = 0, cols = 0;
    T const* factor = nullptr;

    form facts() const { return {*factor}; }
    template <class F>
    void each_view(F&& f) const {
        f(sg::view<T const>{factor, 1, 1, 1, 1});
    }
};

template <class X>
concept has_transposed = requires(X const& x) {
    x.transposed();
};

} // namespace

TEST_CASE("what is shared goes with the last copy") {
    {
        sg::shared<counted> const none;
        CHECK(!none);
        sg::shared<counted> first(counted(3));
        CHECK(alive == 1);
        auto second = first;
        CHECK(&*first == &*second);
        first = {};
        CHECK(!first);
        CHECK((alive == 1 && second->value == 3));
        auto third = std::move(second);
        CHECK((!second && third->value == 3)); // NOLINT(bugprone-use-after-move)
    }
    CHECK(alive == 0);
}

TEST_CASE("what is shared holds something else for as long") {
    sg::shared<counted> outer(counted(1));
    {
        sg::shared<counted> const inner(counted(2));
        outer.hold(inner);
    }
    CHECK(alive == 2);
    auto copy = outer;
    outer = {};
    CHECK(alive == 2);
    copy = {};
    CHECK(alive == 0);
}

TEST_CASE("an operand of any kind is kept for a type of policy, and shares its memory") {
    sg::host const cpu;
    auto memory = sg::reserve_for(cpu, sizeof(float));
    memory.or_throw();
    float* const factor = (*memory)->take<float>(1);
    *factor = 4;
    sg::kept<diagonal<float>, sg::host> kept(std::move(*memory), {{3, 3, factor}});
    auto const copy = kept;
    kept = {};
    auto const x = copy.view();
    CHECK((x.rows == 3 && copy.cols() == 3 && x.facts().factor == 4));
    CHECK(sg::memory_of<sg::host>(copy));
    CHECK(!sg::memory_of<sg::host>(x));
    using shape = sg::shape<decltype(x.facts()), float>;
    static_assert(std::is_same_v<sg::multiplier<sg::host, shape>, sg::product_over<sg::host>>);
    static_assert(std::is_same_v<sg::multiplier<sg::reference, shape>, sg::reference>);
    sg::owned<diagonal<float>, sg::host> const plain = copy;
    CHECK(*plain.view().factor == 4);
    static_assert(!has_transposed<diagonal<float>> &&
                  !has_transposed<sg::kept_operand<diagonal<float>, sg::host>>);
}
