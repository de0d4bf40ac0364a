// Any policy of stratagemm as a contender, on the host or on a device:
//
//   all.push_back(make_policy<forms{}, element::f32, element::f64>("strassen{host}", role::library,
//       [](problem const& p) { return sg::strassen{sg::host{.threads = p.threads}}; }));
//
// It is instantiated for these types and forms. What makes the policy may also have takes(), which may refuse
// more, and ran(), which says what the last product did. As a user has it: a file that includes this is
// compiled at plain -O2, with OpenMP and no -march.
#pragma once

#include "contender.hpp"

#include <stratagemm/stratagemm.hpp>

#include <functional>

namespace bench {

// What a policy takes beside a plain product. A transposed operand needs no instance of its own.
struct forms {
    bool batches = false, epilogues = false, groups = false;
};

// A matrix that begins `at` elements after x.
template <class T, class Space>
stratagemm::view<T, Space> matrix_at(void const* x, long at, long rows, long cols, bool transposed = false) {
    using handle = typename Space::template handle<T>;
    auto* const p = const_cast<void*>(x);
    stratagemm::view<T, Space> v{{}, rows, cols, transposed ? 1 : cols, transposed ? rows : 1};
    if constexpr (std::is_pointer_v<handle>)
        v.data = static_cast<handle>(p) + at;
    else if constexpr (requires(handle h) { h.address; })
        v.data = handle{static_cast<T*>(p)} + at;
    else
        v.data = handle{static_cast<decltype(handle::buffer)>(p)} + at;
    return v;
}

template <forms Forms, class Make, element... Types>
class policy final : public contender {
    using made = std::remove_cvref_t<decltype(std::declval<Make&>()(problem{}))>;
    using space = typename made::space;
    using arena = typename made::arena;
    static constexpr bool on_host = std::is_same_v<space, stratagemm::host_memory>;

public:
    policy(std::string name, role part, Make make) : name_(std::move(name)), part_(part), make_(make) {}

    std::string name() const override { return name_; }
    std::string version() const override { return "-O2, no -march"; }
    role part() const override { return part_; }
    bool takes(problem const& p) const override {
        if constexpr (requires { make_.takes(p); })
            if (!make_.takes(p)) return false;
        bool const is_plain = p.count == 1 && !p.added && !p.relu && p.group.empty();
        return ((p.type == Types) || ...) &&
               (is_plain || (p.count > 1 && Forms.batches) || (!p.group.empty() && Forms.groups) ||
                ((p.added || p.relu) && Forms.epilogues));
    }

    // On the host a call is what a newcomer writes; on a device it has its workspace beforehand.
    void prepare(problem const& p, operands const& x) override {
        if constexpr (!on_host)
            visit<Types...>(p.type, [&]<class T>(T types) {
                if constexpr (Forms.groups)
                    if (!p.group.empty()) return prepare_group(types, p, x);
                if (x.set == 0) reserve(make_(p), make_(p).workspace(shape(types, p)));
            });
    }
    void run(problem const& p, operands const& x) override {
        if (!p.group.empty()) return groups_[std::size_t(x.set)]();
        visit<Types...>(p.type, [&]<class T>(T) { multiply<typename T::in, typename T::out>(p, x); });
    }

    long workspace(problem const& p) const override {
        long bytes = -1;
        if (p.group.empty())
            visit<Types...>(p.type, [&]<class T>(T types) {
                auto needed = make_(p).workspace(shape(types, p));
                bytes = long(space::share(needed));
            });
        return bytes;
    }
    guarantee bound(problem const& p) const override {
        guarantee promised;
        visit<Types...>(p.type, [&]<class T>(T types) {
            auto const b = make_(p).error_bound(shape(types, p));
            promised = {b.worst, b.normwise};
        });
        return promised;
    }
    double estimate(problem const& p) const override {
        double seconds = -1;
        if (p.group.empty())
            visit<Types...>(p.type, [&]<class T>(T types) { seconds = make_(p).estimate(shape(types, p)); });
        return seconds;
    }
    std::string ran(problem const& p) const override {
        std::string text;
        if constexpr (requires { make_.ran(); })
            text = make_.ran();
        else if constexpr (!on_host)
            visit<Types...>(p.type, [&]<class T>(T types) {
                text = make_(p).describe(shape(types, p));
                std::string const type = std::string(", ") + stratagemm::type_name<typename T::in>() + ", ";
                if (auto const at = text.find(type); at != text.npos) text.erase(0, at + type.size());
            });
        return p.group.empty() ? text : "";
    }

private:
    template <class T>
    static auto shape(T, problem const& p) {
        using in = typename T::in;
        return stratagemm::shape<in, in, typename T::out>{.m = p.m,
                                                          .n = p.n,
                                                          .k = p.k,
                                                          .count = p.count,
                                                          .adds = p.added,
                                                          .a_across = p.a_transposed,
                                                          .b_across = p.b_transposed};
    }
    // f(the arguments of gemm)
    template <class In, class Out, class F>
    static void with_arguments(problem const& p, operands const& x, F const& f) {
        auto const a = matrix_at<In const, space>(x.a, 0, p.m, p.k, p.a_transposed);
        auto const b = matrix_at<In const, space>(x.b, 0, p.k, p.n, p.b_transposed);
        auto const c = matrix_at<Out, space>(x.c, 0, p.m, p.n);
        if constexpr (Forms.epilogues) {
            using scalar = stratagemm::accumulator_t<In>;
            auto const e = matrix_at<Out const, space>(x.e, 0, p.m, p.n);
            if constexpr (!stratagemm::complex_like<In>)
                if (p.relu)
                    return p.added ? f(scalar(2), a, b, scalar(3), e, c, stratagemm::relu)
                                   : f(a, b, c, stratagemm::relu);
            if (p.added) return f(scalar(2), a, b, scalar(3), e, c);
        }
        if constexpr (Forms.batches)
            if (p.count > 1)
                return f(stratagemm::batched(a, p.count, p.m * p.k),
                         stratagemm::batched(b, p.count, p.k * p.n),
                         stratagemm::batched(c, p.count, p.m * p.n));
        f(a, b, c);
    }
    template <class In, class Out>
    void multiply(problem const& p, operands const& x) {
        auto const over = make_(p);
        with_arguments<In, Out>(p, x, [&](auto const&... arguments) {
            if constexpr (on_host)
                stratagemm::gemm(over, arguments...);
            else
                over(stratagemm::product(arguments...), arena_).or_throw();
        });
    }

    template <class T>
    void prepare_group(T, problem const& p, operands const& x) {
        auto const product = [&](member const& y) {
            return stratagemm::product(matrix_at<typename T::in const, space>(x.a, y.a, y.m, y.k),
                                       matrix_at<typename T::in const, space>(x.b, y.b, y.k, y.n),
                                       matrix_at<typename T::out, space>(x.c, y.c, y.m, y.n));
        };
        std::vector<decltype(product(member{}))> all;
        for (member const& y : p.group) all.push_back(product(y));
        if (x.set == 0) groups_.clear(), reserve(make_(p), stratagemm::group_workspace(make_(p), all));
        groups_.push_back(
            [this, over = make_(p), all = std::move(all)] { stratagemm::gemm(over, all, arena_); });
    }
    template <class Footprint>
    void reserve(made const& over, Footprint const& needed) {
        auto memory = over.reserve(needed);
        memory.or_throw();
        arena_ = std::move(*memory);
    }

    std::string name_;
    role part_;
    mutable Make make_; // a policy may report to it
    arena arena_{};
    std::vector<std::function<void()>> groups_; // one a set
};

template <forms Forms, element... Types, class Make>
std::unique_ptr<contender> make_policy(std::string name, role part, Make make) {
    return std::make_unique<policy<Forms, Make, Types...>>(std::move(name), part, make);
}

} // namespace bench
