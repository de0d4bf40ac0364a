// A policy of a device put to trials whose operands are on the host: device memory that holds the same bytes, the
// poison between the elements included, with more poison before and behind them.
#pragma once

#include "conformance/trial.hpp"

#include <list>
#include <optional>

namespace trials {

template <class Device, class Base>
struct mirrored {
    Device device;
    Base base;

    using space = typename Device::space;
    using memory = std::list<typename Device::arena>;

    template <class Problem>
    struct counterpart;
    template <class TA, class TB, class TC, class Epilogue>
    struct counterpart<sg::dense_problem<TA, TB, TC, sg::host_memory, Epilogue>> {
        using type =
            sg::dense_problem<TA, TB, TC, space,
                              decltype(there(std::declval<mirrored const&>(), std::declval<Epilogue const&>(),
                                             std::declval<memory&>()))>;
    };
    template <class P>
    static constexpr sg::verdict accepts = Base::template accepts<typename counterpart<P>::type>;

    template <class S>
    sg::bound error_bound(S const& s) const {
        return base.error_bound(s);
    }

    // What is wrong with the buffers afterwards is an error of the run.
    template <class Problem>
    sg::status run(Problem const& p) const {
        held<Problem> const there(*this, p);
        if (sg::status s = sg::run(base, there.call); !s) return s;
        return there.come_back();
    }
    template <class Problem>
    sg::status run(sg::group<Problem> const& all) const {
        std::list<held<Problem>> there;
        std::vector<typename counterpart<Problem>::type> calls;
        for (Problem const& p : all) calls.push_back(there.emplace_back(*this, p).call);
        if (sg::status s = sg::run(base, sg::as_group(calls)); !s) return s;
        for (held<Problem> const& one : there)
            if (sg::status s = one.come_back(); !s) return s;
        return {};
    }

private:
    static constexpr std::size_t margin = 512;

    // A copy, in device memory.
    template <class T>
    auto copied(T const* from, index_t count, memory& kept) const {
        sg::footprint f;
        space::share(f) = static_cast<std::size_t>(count) * sizeof(T) + 1; // not nothing
        auto arena = device.reserve(f);
        arena.or_throw();
        auto const to = arena->template take<T>(count);
        device.leaf().upload(from, to, count).or_throw();
        kept.push_back(std::move(*arena));
        return to;
    }

    // The bytes that a (batch of) matrices spans.
    class buffer {
    public:
        template <class V>
        buffer(mirrored const& m, V const& v, index_t count, index_t step) : mirrored_(m) {
            using T = typename V::value_type;
            sg::extent const x =
                sg::extent_of(v.rows, v.cols, v.row_stride, v.col_stride, count, step, sizeof(T));
            auto const* const first = v.data ? reinterpret_cast<std::byte const*>(v.data) + x.low : nullptr;
            // As far from a good alignment as on the host.
            auto const shift = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(first) % 64);
            low_ = x.low, at_ = margin + shift, size_ = static_cast<std::size_t>(x.high - x.low);
            bytes_.assign(at_ + size_ + margin, std::byte{0xff}); // NaN in every type that has one
            if (size_ > 0) std::memcpy(bytes_.data() + at_, first, size_);
            data_ = m.copied(bytes_.data(), static_cast<index_t>(bytes_.size()), memory_);
        }
        template <class T>
        auto place() const {
            return space::template cast<T>(data_ + (static_cast<index_t>(at_) - low_));
        }
        bool unchanged() const { return now() == bytes_; }
        template <class T>
        bool come_back(T* to) const {
            std::vector<std::byte> const after = now();
            if (size_ > 0) std::memcpy(reinterpret_cast<std::byte*>(to) + low_, after.data() + at_, size_);
            return std::equal(after.begin(), after.begin() + static_cast<index_t>(at_), bytes_.begin()) &&
                   std::equal(after.end() - static_cast<index_t>(margin), after.end(),
                              bytes_.end() - static_cast<index_t>(margin));
        }

    private:
        std::vector<std::byte> now() const {
            std::vector<std::byte> bytes(bytes_.size());
            mirrored_.device.leaf()
                .download(data_, bytes.data(), static_cast<index_t>(bytes.size()))
                .or_throw();
            return bytes;
        }
        mirrored const& mirrored_;
        memory memory_;
        typename space::template handle<std::byte> data_;
        std::vector<std::byte> bytes_;
        index_t low_ = 0;
        std::size_t at_ = 0, size_ = 0;
    };

    template <class T, class V>
    static sg::view<T, space> moved(V const& v, buffer const& b) {
        return {b.template place<T>(), v.rows, v.cols, v.row_stride, v.col_stride, v.scale, v.conjugate};
    }

    // A product with its operands on the device.
    template <class Problem>
    struct held {
        using A = typename Problem::a_type;
        using B = typename Problem::b_type;
        using Out = typename Problem::c_type;

        held(mirrored const& m, Problem const& p)
            : here(p), a(m, p.a, p.count, p.a_step), b(m, p.b, p.count, p.b_step),
              c(m, p.c, p.count, p.c_step) {
            if (p.e.data != p.c.data) e.emplace(m, p.e, p.count, p.e_step);
            call.alpha = p.alpha, call.beta = p.beta;
            call.a = moved<A const>(p.a, a), call.b = moved<B const>(p.b, b), call.c = moved<Out>(p.c, c);
            call.e = moved<Out const>(p.e, e ? *e : c);
            call.epilogue = there(m, p.epilogue, kept);
            call.count = p.count, call.row0 = p.row0, call.col0 = p.col0;
            call.a_step = p.a_step, call.b_step = p.b_step, call.e_step = p.e_step, call.c_step = p.c_step;
        }
        sg::status come_back() const {
            if (!a.unchanged() || !b.unchanged() || (e && !e->unchanged()))
                return sg::error(sg::errc::native, "mirrored", "an operand was written to");
            if (!c.come_back(here.c.data))
                return sg::error(sg::errc::native, "mirrored", "bytes beside C were written to");
            return {};
        }

        Problem here;
        memory kept;
        buffer a, b, c;
        std::optional<buffer> e;
        typename counterpart<Problem>::type call;
    };

    // An epilogue with its values where the operands are.
    template <class E>
    friend auto there(mirrored const&, E const& e, memory&) {
        return e;
    }
    template <class T>
    friend auto there(mirrored const& m, sg::bias_epilogue<T> const& e, memory& kept) {
        using handle = typename space::template handle<T const>;
        return sg::bias_epilogue<T, handle>{m.copied(e.values, e.count, kept), e.count, e.axis};
    }
    template <class T>
    friend auto there(mirrored const& m, sg::scale_of_lines_epilogue<T> const& e, memory& kept) {
        using handle = typename space::template handle<T const>;
        return sg::scale_of_lines_epilogue<T, handle>{m.copied(e.values, e.count, kept), e.count, e.axis};
    }
    template <class First, class Second>
    friend auto there(mirrored const& m, sg::then_epilogue<First, Second> const& e, memory& kept) {
        auto first = there(m, e.first, kept);
        auto second = there(m, e.second, kept);
        return sg::then_epilogue<decltype(first), decltype(second)>{first, second};
    }
};
template <class Device, class Base>
mirrored(Device, Base) -> mirrored<Device, Base>;

// An out_of_core, whose operands are the host's. Its turn comes in no trial with an epilogue, so the code of
// out_of_core for each epilogue would be compiled and never run.
template <class Base>
struct staged_without_epilogue : Base {
    template <class P>
    static constexpr sg::verdict accepts =
        sg::epilogue_if(std::is_same_v<typename P::epilogue_type, sg::identity>) & Base::template accepts<P>;
};
template <class Base>
staged_without_epilogue(Base) -> staged_without_epilogue<Base>;

// Layers that copy elements and hand the product on to what is beneath, which is tried with every type and epilogue: they
// have a type of each size, and epilogues of floats. Each layer, type and epilogue takes seconds to compile.
template <class Base>
struct of_each_size : Base {
    template <class P>
    static constexpr sg::verdict accepts = [] {
        using A = typename P::a_type;
        constexpr bool of_floats = std::is_same_v<A, float> && std::is_same_v<typename P::b_type, float>;
        constexpr bool is_taken = of_floats || std::is_same_v<A, std::complex<double>> ||
                                  std::is_same_v<A, sg::half> || std::is_same_v<A, std::int8_t>;
        constexpr bool has_epilogue = !std::is_same_v<typename P::epilogue_type, sg::identity>;
        if constexpr (is_taken && (of_floats || !has_epilogue))
            return Base::template accepts<P>;
        else
            return sg::types_if(is_taken) & sg::epilogue_if(of_floats || !has_epilogue);
    }();
};
template <class Base>
of_each_size(Base) -> of_each_size<Base>;

} // namespace trials
