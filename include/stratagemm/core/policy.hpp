// Policies: what gemm() takes as its first argument, whether a backend or an algorithm over one.
//
// A policy says what it accepts, what memory it needs, how large its error can be, and does the work. A leaf
// (a backend) also offers the few operations on sub-views that algorithms are made of; they are the only way
// an algorithm touches memory, and so every algorithm runs on every backend.
#pragma once

#include "problem.hpp"

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
// `worst` holds for every input; `expected` for inputs whose rounding errors do not conspire, which is what
// random data looks like.
struct bound {
    double worst = 0;
    double expected = 0;
    bool normwise = false;
};
inline bound larger(bound x, bound y) {
    return {x.worst < y.worst ? y.worst : x.worst, x.expected < y.expected ? y.expected : x.expected,
            x.normwise || y.normwise};
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
    typename Space::template handle<T> take(index count) {
        auto const at = base_ + static_cast<index>(used_);
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

// A policy P, for a problem type Q and its shape S, also has
//   template <class Q> static constexpr bool accepts;
//   footprint workspace(S) const;  bound error_bound(S) const;  std::string describe(S) const;
//   status operator()(Q, arena&) const;
// leaf() is the backend of P's own memory space, never of a space further down. A leaf has, for views in it,
//   status copy(from, to)      to = from, converting; from may carry a scale
//   status add(x, y, to)       to = x + y; x and y may carry scales, and to may be either of them
//   status fill(to, value)
//   status apply(f, to, row0, col0)   to_ij = f(to_ij, row0 + i, col0 + j)
//   status synchronize()
// one whose memory is not the host's also has, for T* on the host and handles of its own,
//   status upload(from, to, count)    done when it returns, and so is download(from, to, count)
// and any may have, for layers that choose between ways to the same result, roughly
//   double seconds(S) const    what a product of that shape takes
//   double seconds_each() const   what apply() takes for an element
// and members that do a whole job of such a layer in a way of its own; a layer asks whether they are there.
template <class P>
concept policy = requires(P const& p, footprint f) {
    typename P::space;
    typename P::arena;
    p.leaf();
    { p.reserve(f) } -> std::same_as<result<typename P::arena>>;
};

// A policy may take operands of another space too, by naming another policy that does: P::across(space).
template <class P, class Space>
concept crosses_to = !std::is_same_v<typename P::space, Space> && requires(P const& p) {
    p.across(Space{});
};

// The policy of gemm(a, b, c) for operands in a space; each backend header that is included sets its own.
template <class Space>
struct default_policy {};

// C = epilogue(beta E): what is left of a product when k or alpha is zero.
template <class Leaf, class Problem>
[[gnu::cold, gnu::noinline]] status scale_only(Leaf const& leaf, Problem const& p) {
    using S = typename Problem::scalar;
    for (index i = 0; i < p.count; ++i) {
        auto const one = p.at(i);
        auto e = one.e;
        e.scale = static_cast<decltype(e.scale)>(p.beta);
        if (status s = p.beta == S(0) ? leaf.fill(one.c, typename Problem::c_type(real_t<S>(0)))
                                      : leaf.copy(e, one.c);
            !s)
            return s;
        if constexpr (!std::is_same_v<typename Problem::epilogue_type, identity>)
            if (status s = leaf.apply(p.epilogue, one.c, p.row0, p.col0); !s) return s;
    }
    return {};
}

// Policies are not asked about these.
template <class Problem>
bool is_empty(Problem const& p) {
    return p.c.rows == 0 || p.c.cols == 0 || p.count == 0;
}

// The whole call once the problem is stated: check, then leave the trivial cases out, then run.
template <class P, class Problem>
status run_checked(P const& policy, Problem const& p, typename P::arena& arena) {
    if (is_empty(p)) return {};
    if (p.a.cols == 0 || p.alpha == typename Problem::scalar(0)) return scale_only(policy.leaf(), p);
    return policy(p, arena);
}

template <class P, class Problem>
constexpr bool check_policy() {
    constexpr bool space = std::is_same_v<typename P::space, typename Problem::space>;
    if constexpr (!space) {
        static_assert(space, "stratagemm: the operands are not in the memory space of this policy");
        return false;
    } else {
        constexpr bool accepted = P::template accepts<Problem>;
        static_assert(accepted, "stratagemm: this policy has no kernel for these element types");
        return accepted;
    }
}

STRATAGEMM_END
