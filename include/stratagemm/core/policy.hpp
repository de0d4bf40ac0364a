// Policies: what gemm() takes as its first argument, whether a backend or an algorithm over one.
//
// A policy says what it accepts, what memory it needs, how large its error can be and how long it takes, and does the
// work. Its leaf (core/leaf.hpp) offers the operations on sub-views that algorithms are made of; they are the only way
// an algorithm touches memory, and so every algorithm runs on every backend.
#pragma once

#include "estimate.hpp"
#include "leaf.hpp"
#include "problem.hpp"

#include <string>

STRATAGEMM_BEGIN

// Bytes of workspace in each kind of memory.
struct footprint {
    std::size_t host = 0, pinned = 0, device = 0;

    friend footprint operator+(footprint x, footprint y) {
        return {x.host + y.host, x.pinned + y.pinned, x.device + y.device};
    }
    friend bool operator==(footprint, footprint) = default;
};
constexpr std::size_t larger(std::size_t x, std::size_t y) { return x < y ? y : x; }
inline footprint larger(footprint x, footprint y) {
    return {larger(x.host, y.host), larger(x.pinned, y.pinned), larger(x.device, y.device)};
}

// How far a computed C can be from the exact one.
//   componentwise: |dC_ij| <= x (|alpha| |A||B| + |beta E|)_ij
//   normwise:      |dC_ij| <= x (|alpha| k max|A| max|B| + max|beta E|)
// `worst` holds with probability `confidence`: 1 for every input, less where an algorithm draws random numbers, whatever
// the input. `expected` is a statistical estimate for typical data.
struct bound {
    double worst = 0;
    double expected = 0;
    bool normwise = false;
    double confidence = 1;
};
inline bound larger(bound x, bound y) {
    return {x.worst < y.worst ? y.worst : x.worst, x.expected < y.expected ? y.expected : x.expected,
            x.normwise || y.normwise, x.confidence < y.confidence ? x.confidence : y.confidence};
}
// How likely it is that `count` bounds of one confidence all hold, at least.
constexpr double all_hold(double confidence, double count) {
    double const x = 1 - count * (1 - confidence);
    return x > 0 ? x : 0;
}

// The bound of sums of `length` products that are added one after another in the accumulator and rounded once to C.
template <class S>
bound chain_bound(index_t length) {
    using Sum = accumulator_t<typename S::wide_type>;
    if constexpr (std::is_integral_v<Sum>) {
        return {};
    } else {
        double const u = unit_roundoff<Sum>(), out = unit_roundoff<typename S::c_type>();
        double const last = sizeof(typename S::c_type) < sizeof(Sum) ? out : 0;
        double const parts = complex_like<Sum> ? 1.5 : 1, terms = static_cast<double>(length);
        return {parts * 1.01 * (terms + 4) * u + last, parts * (3 + 2 * __builtin_sqrt(terms)) * u + last};
    }
}

// The types of the operands, for describe().
template <class S>
std::string types_of() {
    std::string const a = type_name<typename S::a_type>(), b = type_name<typename S::b_type>();
    return a == b ? a : a + " x " + b;
}

// Workspace: one block, handed out in order and taken back in reverse. It is allocated by the backend of its
// own memory space and returns there.
template <class Space>
class linear_arena {
public:
    using bytes_handle = typename Space::template handle<std::byte>;
    using release_function = void (*)(bytes_handle, std::size_t);
    static constexpr std::size_t alignment = 64;

    linear_arena() = default;
    linear_arena(bytes_handle base, std::size_t size, release_function release)
        : base_(base), size_(size), release_(release) {}
    linear_arena(linear_arena&& other) noexcept
        : base_(other.base_), size_(other.size_), used_(other.used_),
          release_(std::exchange(other.release_, nullptr)) {}
    linear_arena& operator=(linear_arena&& other) noexcept {
        std::swap(base_, other.base_);
        std::swap(size_, other.size_);
        std::swap(used_, other.used_);
        std::swap(release_, other.release_);
        return *this;
    }
    ~linear_arena() {
        if (release_) release_(base_, size_);
    }

    static constexpr std::size_t rounded(std::size_t bytes) {
        return (bytes + alignment - 1) / alignment * alignment;
    }
    bool fits(footprint f) const { return size_ - used_ >= Space::share(f); }
    std::size_t size() const { return size_; }

    // What workspace() promised is there: front and plan check it before a policy runs.
    template <class T>
    typename Space::template handle<T> take(index_t count) {
        auto const at = base_ + static_cast<index_t>(used_);
        used_ += rounded(static_cast<std::size_t>(count) * sizeof(T));
        return Space::template cast<T>(at);
    }

    // Gives back all that was taken after it was made.
    class scope {
    public:
        explicit scope(linear_arena& arena) : arena_(arena), mark_(arena.used_) {}
        scope(scope const&) = delete;
        scope& operator=(scope const&) = delete;
        ~scope() { arena_.used_ = mark_; }

    private:
        linear_arena& arena_;
        std::size_t mark_;
    };

private:
    bytes_handle base_{};
    std::size_t size_ = 0;
    std::size_t used_ = 0;
    release_function release_ = nullptr;
};

// Whether a policy takes a problem, and if not, what is in the way.
enum class verdict {
    yes,
    types,     // there is no kernel for these element types
    structure, // only plain matrices are taken: no sums, spreads, sparse operands
    epilogue,  // the backend cannot run the epilogue
    space,     // the operands are in another memory
    parts,     // the policy beneath has no kernel for the products that this one is made of
    leaf       // the leaf lacks a capability (core/leaf.hpp) that is needed
};
constexpr verdict types_if(bool known) { return known ? verdict::yes : verdict::types; }
constexpr verdict parts_if(bool known) { return known ? verdict::yes : verdict::parts; }
constexpr verdict epilogue_if(bool known) { return known ? verdict::yes : verdict::epilogue; }
// The first objection.
constexpr verdict operator&(verdict x, verdict y) { return x != verdict::yes ? x : y; }

// What a policy P says of a problem: `accepts` is asked about plain matrices, `accepts_operands` about anything else. A
// policy without the latter takes none of these.
template <class P, class Problem>
constexpr verdict answer() {
    if constexpr (!std::is_same_v<typename P::space, typename Problem::space>)
        return verdict::space;
    else if constexpr (is_dense<Problem>)
        return P::template accepts<Problem>;
    else if constexpr (requires { P::template accepts_operands<Problem>; })
        return P::template accepts_operands<Problem>;
    else
        return verdict::structure;
}
template <class P, class Problem>
inline constexpr bool takes = answer<P, Problem>() == verdict::yes;

// A policy P has, for every problem type Q that it takes and its shape S,
//   static constexpr verdict accepts<Q>, and optionally accepts_operands<Q>
//   leaf()                    the backend of P's own memory space, never of a space further down
//   reserve(footprint)        an arena
//   workspace(S)              what an arena has to hold for one product
//   error_bound(S)
//   estimate(S)               seconds, roughly; the same for the same shape on the same machine
//   describe(S)
//   operator()(Q, arena)      the product; its operands have been checked, k and alpha are not 0
// and optionally
//   try_small(Q)              the product, if it needs no workspace; else false, and nothing is done. Q is_usual()
//   workspace_for(Q)          what an arena has to hold for this product, where that may be less than workspace(S)
//   prepare(Q)                the product, with what the policy found out to size its workspace; as `prepared` below
//   hand_over(Q, bool)        the whole call, of a policy that only chooses which one does the product; whether Q is_usual()
// No policy measures time within a call: what runs follows from operands, shape, device and stored tuning, so that the
// same call gives the same bits. The concept asks about a product of floats, whether or not the policy
// accepts that: it checks signatures.
template <class P>
using leaf_of = std::remove_cvref_t<decltype(std::declval<P const&>().leaf())>;
template <class P>
concept has_leaf = leaf < leaf_of<P>,
typename P::space > ;
template <class P, class Problem>
concept answers = requires {
    { P::template accepts<Problem> } -> std::convertible_to<verdict>;
};
template <class P>
concept policy = has_leaf<P> && answers<P, dense_problem<float, float, float, typename P::space>> &&
    requires(P const& p, footprint f, shape<float> const& s,
             dense_problem<float, float, float, typename P::space> const& q, typename P::arena& a) {
    { p.reserve(f) } -> std::same_as<result<typename P::arena>>;
    { p.workspace(s) } -> std::same_as<footprint>;
    { p.error_bound(s) } -> std::same_as<bound>;
    { p.estimate(s) } -> std::same_as<double>;
    { p.describe(s) } -> std::same_as<std::string>;
    { p(q, a) } -> std::same_as<status>;
};

// An operand that is more than memory brings its products: over<P> of its form, where there is one, is a policy over P
// that does them. Sparse operands are for backends, which say is_backend: a layer that knows dense products alone is
// not passed over in silence.
template <class P>
inline constexpr bool is_backend = requires {
    requires P::is_backend;
};
// An operand with two ways to be multiplied, one of which is taken by default, gives itself and its form in the other by
// in_other_way(). A policy that says chooses_ways gets such an operand as it is.
template <class X>
concept has_other_way = requires(X const& x) {
    x.in_other_way();
};
template <class P>
inline constexpr bool chooses_ways = requires {
    requires P::chooses_ways;
};
template <class P, class Form>
struct over_form {
    using type = P;
};
template <class P, class Form>
requires(!(chooses_ways<P> && has_other_way<Form>)&&requires {
    typename Form::template over<P>;
}) struct over_form<P, Form> {
    using type = typename Form::template over<P>;
};
// What does the products of a shape for P: P itself where its operands are matrices.
template <class P, class Shape>
using multiplier = typename over_form<
    typename over_form<typename over_form<P, typename Shape::c_form>::type, typename Shape::a_form>::type,
    typename Shape::b_form>::type;

// A policy may take operands of another space, too. A header that knows a way specializes this; through(policy) is then
// the policy that takes them.
template <class P, class Space>
struct way_from {};
template <class P, class Space>
concept crosses_to = !std::is_same_v<typename P::space, Space> && requires(P const& p) {
    way_from<P, Space>::through(p);
};

// The policy that does a problem for P in the end: of another space, or over P.
template <class P, class Problem>
struct performer_of {
    using type = multiplier<P, decltype(std::declval<Problem const&>().shape())>;
};
template <class P, class Problem>
requires crosses_to<P, typename Problem::space>
struct performer_of<P, Problem>
    : performer_of<decltype(way_from<P, typename Problem::space>::through(std::declval<P const&>())),
                   Problem> {
};
template <class P, class Problem>
using performer = typename performer_of<P, Problem>::type;

// The policy of gemm(a, b, c) for operands in a space; each backend header that is included sets its own. Void: there is
// none.
template <class Space>
struct default_policy {
    using type = void;
};

// C = epilogue(beta E): what is left of a product when k or alpha is zero.
template <class Leaf, class View, class From, class Scalar>
status keep_only(Leaf const& leaf, View const& to, From from, Scalar keep) {
    if (keep == Scalar(0)) return leaf.fill(to, typename View::value_type(real_t<Scalar>(0)));
    from.scale = static_cast<decltype(from.scale)>(keep);
    return leaf.copy(from, to);
}
template <class Leaf, class Problem>
[[gnu::cold, gnu::noinline]] status scale_only(Leaf const& leaf, Problem const& p) {
    if constexpr (is_view<typename Problem::c_operand>::value) {
        constexpr bool finishes = !std::is_same_v<typename Problem::epilogue_type, identity>;
        using S = typename Problem::scalar;
        for (index_t i = 0; i < p.count; ++i) {
            auto one = p.at(i);
            if constexpr (finishes && host_leaf<Leaf> && sizeof(typename Problem::c_type) < sizeof(S)) {
                one.alpha = S(0); // beta E is not to be rounded to the type of C before the epilogue has it
                for (index_t r = 0; r < one.c.rows; ++r)
                    for (index_t j = 0; j < one.c.cols; ++j) finish_element(one, r, j, S(0));
                continue;
            }
            if (status s = keep_only(leaf, one.c, one.e, p.beta); !s) return s;
            if constexpr (finishes)
                if (status s = leaf.apply(p.epilogue, one.c, p.row0, p.col0); !s) return s;
        }
    } else if constexpr (requires { p.c.targets; }) {
        for (int t = 0; t < p.c.targets; ++t)
            if (status s = keep_only(leaf, p.c.at[t].to, p.c.at[t].from, p.c.at[t].keep); !s) return s;
    } else {
        return p.c.keep_only(leaf, p);
    }
    return {};
}

// Policies are not asked about these.
template <class Problem>
bool is_empty(Problem const& p) {
    return p.c.rows == 0 || p.c.cols == 0 || p.count == 0;
}

template <class Problem>
bool sums_nothing(Problem const& p) {
    return p.a.cols == 0 || p.alpha == typename Problem::scalar(0);
}

// A problem that was checked: leave the trivial cases out, then run.
template <class P, class Problem>
status run_checked(P const& policy, Problem const& p, typename P::arena& arena) {
    if (is_empty(p)) return {};
    if (sums_nothing(p)) return scale_only(policy.leaf(), p);
    return policy(p, arena);
}

// A product between the sizing of its workspace and its run. It refers to the policy and the problem. A policy that
// chooses how to multiply has a type of its own, by prepare(), which carries the choice: the choice is made once.
template <class P, class Problem>
struct prepared {
    P const& policy;
    Problem const& problem;

    footprint workspace() const {
        if constexpr (requires { policy.workspace_for(problem); })
            return policy.workspace_for(problem);
        else
            return policy.workspace(problem.shape());
    }
    status run(typename P::arena& arena) const { return policy(problem, arena); }
};
template <class P, class Problem>
auto prepare(P const& policy, Problem const& p) {
    if constexpr (requires { policy.prepare(p); })
        return policy.prepare(p);
    else
        return prepared<P, Problem>{policy, p};
}

// The same of a product that is prepared.
template <class P, class Problem, class Prepared>
status run_prepared(P const& policy, Problem const& p, Prepared& ready, typename P::arena& arena) {
    if (sums_nothing(p)) return scale_only(policy.leaf(), p);
    return ready.run(arena);
}

// Whether an epilogue reads values in host memory, as a bias from a std::vector does.
template <class F>
inline constexpr bool reads_host_values = false;
template <class T>
inline constexpr bool reads_host_values<bias_epilogue<T, T const*>> = true;
template <class T>
inline constexpr bool reads_host_values<scale_of_lines_epilogue<T, T const*>> = true;
template <class First, class Second>
inline constexpr bool reads_host_values<then_epilogue<First, Second>> =
    reads_host_values<First> || reads_host_values<Second>;

// Says that operands are in another memory than the policy's. A header that has a way from Here to There, the
// policy's memory, says which.
template <class There, class Here>
struct refuse_space {
    static constexpr bool say() {
        static_assert(
            std::is_same_v<There, Here>,
            "stratagemm: the operands are not in the memory space of this policy: use a policy of their "
            "memory, copy them to the policy's, or include the header that brings them there "
            "('Headers' in docs/reference.md)");
        return false;
    }
};

// Whether the type of C is all that is in the way.
template <class P, class Problem>
constexpr bool takes_sums = false;
template <class P, class A, class B, class T, class Space, class Epilogue>
constexpr bool takes_sums<P, problem<A, B, view<T, Space>, Epilogue>> =
    takes<P, problem<A, B, view<accumulator_t<typename A::value_type>, Space>, Epilogue>>;

// Says at compile time, in one line, why a policy does not take a problem.
template <class P, class Problem>
constexpr bool check_policy() {
    constexpr verdict v = answer<P, Problem>();
    using A = typename Problem::a_type;
    using B = typename Problem::b_type;
    if constexpr (v == verdict::space)
        return refuse_space<typename P::space, typename Problem::space>::say();
    else if constexpr (v == verdict::types && !std::is_same_v<A, B>)
        static_assert(
            v == verdict::yes,
            "stratagemm: this policy, or one beneath it, has no kernel for an A and a B of these two element "
            "types: convert one of them ('Element types' in docs/reference.md has the pairs that run)");
    else if constexpr (v == verdict::types && takes_sums<P, Problem>)
        static_assert(v == verdict::yes, "stratagemm: this policy, or one beneath it, has no kernel for a C "
                                         "of this element type: take the "
                                         "type in which A B is summed (float for float, half and bfloat16, "
                                         "double for double, std::int32_t "
                                         "for int8), and convert C");
    else if constexpr (v == verdict::types)
        static_assert(
            v == verdict::yes,
            "stratagemm: this policy, or one beneath it, has no kernel for these element types. A and B have "
            "one type, or are float and half or bfloat16, or one of these and int8: see 'Element types' in "
            "docs/reference.md");
    else if constexpr (v == verdict::parts)
        static_assert(
            v == verdict::yes,
            "stratagemm: this policy is made of int8 or bfloat16 products, and the policy beneath it has no "
            "kernel for them; put it directly over a backend");
    else if constexpr (v == verdict::structure)
        static_assert(v == verdict::yes, "stratagemm: this policy takes plain matrices only, or not this "
                                         "combination of operands; see 'What "
                                         "runs where' in the README");
    else if constexpr (v == verdict::epilogue && requires(Problem const& p) { p.c.targets; })
        static_assert(
            v == verdict::yes,
            "stratagemm: this backend cannot run the epilogue, because the result is a spread; apply it to "
            "the targets in a pass of your own");
    else if constexpr (v == verdict::epilogue && !is_view<typename Problem::c_operand>::value)
        static_assert(
            v == verdict::yes,
            "stratagemm: this epilogue cannot run on a result that is no plain matrix; the header of that "
            "result says what its epilogues need");
    else if constexpr (v == verdict::epilogue && reads_host_values<typename Problem::epilogue_type>)
        static_assert(
            v == verdict::yes,
            "stratagemm: the values of a bias or a scale are in host memory, and the product is on a device; "
            "copy the values into a matrix of the device with one row, and give that to bias() or scale()");
    else if constexpr (v == verdict::epilogue)
        static_assert(v == verdict::yes,
                      "stratagemm: this backend cannot run the epilogue; a device needs one with a device() "
                      "member: use bias, "
                      "relu, gelu, clamp, scale or then, or add device() to yours (docs/devices.md)");
    else if constexpr (v == verdict::leaf)
        static_assert(
            v == verdict::yes,
            "stratagemm: the leaf of this policy is neither a host_leaf nor a device_leaf (core/leaf.hpp), "
            "and an operand or a layer needs one");
    return v == verdict::yes;
}

// What is left of a call; `usual` is is_usual(p).
template <class P, class Problem>
[[gnu::noinline]] status run_in_workspace(P const& policy, Problem const& p, bool usual) {
    if (!usual)
        if (status s = validate_unusual(p); !s) return s;
    if (is_empty(p)) return {};
    if constexpr (requires { policy.hand_over(p, usual); }) {
        return sums_nothing(p) ? scale_only(policy.leaf(), p) : policy.hand_over(p, usual);
    } else {
        auto ready = prepare(policy, p);
        auto arena = policy.reserve(ready.workspace());
        if (!arena) return arena.take_status();
        return run_prepared(policy, p, ready, *arena);
    }
}

// The whole call once the problem is stated: find who multiplies, check, take workspace, run. Inline, because much of
// the check of a small product is known where it is stated.
template <policy P, class Problem>
[[gnu::always_inline]] inline status run(P const& policy, Problem const& p) {
    using M = multiplier<P, decltype(p.shape())>;
    if constexpr (crosses_to<P, typename Problem::space>) {
        return run(way_from<P, typename Problem::space>::through(policy), p);
    } else if constexpr (!std::is_same_v<M, P>) {
        return run(M(policy), p);
    } else if constexpr (check_policy<P, Problem>()) {
        bool const usual = is_usual(p);
        if constexpr (requires { policy.try_small(p); })
            if (usual && policy.try_small(p)) return {};
        return run_in_workspace(policy, p, usual);
    }
    return {};
}

STRATAGEMM_END
