// A policy of CUDA put to trials whose operands are on the host: device memory that holds the same bytes, the poison
// between the elements included, with more poison before and behind them.
#pragma once

#include "conformance/trial.hpp"

#include <stratagemm/backend/cuda.hpp>

#include <list>

namespace trials {

template <class Base>
struct mirrored {
    sg::cuda device;
    Base base;

    template <class Problem>
    struct counterpart;
    template <class TA, class TB, class TC, class Epilogue>
    struct counterpart<sg::problem<TA, TB, TC, sg::host_memory, Epilogue>> {
        using type =
            sg::problem<TA, TB, TC, sg::cuda_memory,
                        decltype(there(std::declval<mirrored const&>(), std::declval<Epilogue const&>(),
                                       std::declval<std::list<sg::cuda::matrix<std::int8_t>>&>()))>;
    };
    template <class P>
    static constexpr bool accepts = Base::template accepts<typename counterpart<P>::type>;

    template <class S>
    sg::bound error_bound(S const& s) const {
        return base.error_bound(s);
    }

    // What is wrong with the buffers afterwards is an error of the run.
    template <class Problem>
    sg::status run(Problem const& p) const {
        using In = typename Problem::a_type;
        using Out = typename Problem::c_type;
        std::list<sg::cuda::matrix<std::int8_t>> kept;
        buffer const a(*this, p.a, p.count, p.a_step), b(*this, p.b, p.count, p.b_step),
            c(*this, p.c, p.count, p.c_step);
        bool const apart = p.e.data != p.c.data;
        buffer const e = apart ? buffer(*this, p.e, p.count, p.e_step) : buffer();

        typename counterpart<Problem>::type q;
        q.alpha = p.alpha, q.beta = p.beta;
        q.a = moved<In const>(p.a, a), q.b = moved<In const>(p.b, b), q.c = moved<Out>(p.c, c);
        q.e = moved<Out const>(p.e, apart ? e : c);
        q.epilogue = there(*this, p.epilogue, kept);
        q.count = p.count, q.row0 = p.row0, q.col0 = p.col0;
        q.a_step = p.a_step, q.b_step = p.b_step, q.e_step = p.e_step, q.c_step = p.c_step;
        if (sg::status s = sg::run(base, q); !s) return s;

        if (!a.unchanged() || !b.unchanged() || (apart && !e.unchanged()))
            return sg::error(sg::errc::native, "mirrored", "an operand was written to");
        if (!c.come_back(p.c.data))
            return sg::error(sg::errc::native, "mirrored", "bytes beside C were written to");
        return {};
    }

private:
    static constexpr std::size_t margin = 512;

    // As a row of bytes.
    template <class Bytes>
    static auto bytes_of(Bytes& bytes) {
        auto* const first = reinterpret_cast<std::int8_t*>(bytes.data());
        return sg::row_major(first, 1, static_cast<index>(bytes.size()));
    }

    // The bytes that a (batch of) matrices spans.
    class buffer {
    public:
        buffer() = default;
        template <class V>
        buffer(mirrored const& m, V const& v, index count, index step) {
            using T = typename V::value_type;
            sg::extent const x =
                sg::extent_of(v.rows, v.cols, v.row_stride, v.col_stride, count, step, sizeof(T));
            auto const* const first = v.data ? reinterpret_cast<char const*>(v.data) + x.low : nullptr;
            // As far from a good alignment as on the host.
            auto const shift = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(first) % 64);
            low_ = x.low, at_ = margin + shift, size_ = static_cast<std::size_t>(x.high - x.low);
            bytes_.assign(at_ + size_ + margin, '\xff'); // NaN in every type that has one
            if (size_ > 0) std::memcpy(bytes_.data() + at_, first, size_);
            memory_ = std::make_shared<sg::cuda::matrix<std::int8_t>>(m.device, bytes_of(bytes_));
        }
        template <class T>
        sg::cuda_pointer<T> place() const {
            auto* const first = memory_->data().address + static_cast<index>(at_) - low_;
            return {reinterpret_cast<T*>(first)};
        }
        bool unchanged() const { return now() == bytes_; }
        template <class T>
        bool come_back(T* to) const {
            std::vector<char> const after = now();
            if (size_ > 0) std::memcpy(reinterpret_cast<char*>(to) + low_, after.data() + at_, size_);
            return std::equal(after.begin(), after.begin() + static_cast<index>(at_), bytes_.begin()) &&
                   std::equal(after.end() - static_cast<index>(margin), after.end(),
                              bytes_.end() - static_cast<index>(margin));
        }

    private:
        std::vector<char> now() const {
            std::vector<char> bytes(bytes_.size());
            memory_->download(bytes_of(bytes));
            return bytes;
        }
        std::shared_ptr<sg::cuda::matrix<std::int8_t>> memory_;
        std::vector<char> bytes_;
        index low_ = 0;
        std::size_t at_ = 0, size_ = 0;
    };

    template <class T, class V>
    static sg::view<T, sg::cuda_memory> moved(V const& v, buffer const& b) {
        return {b.template place<T>(), v.rows, v.cols, v.row_stride, v.col_stride, v.scale, v.conjugate};
    }

    // An epilogue with its values where the operands are.
    template <class E>
    friend auto there(mirrored const&, E const& e, std::list<sg::cuda::matrix<std::int8_t>>&) {
        return e;
    }
    template <class T>
    friend auto there(mirrored const& m, sg::bias_epilogue<T> const& e,
                      std::list<sg::cuda::matrix<std::int8_t>>& kept) {
        auto const* const first = reinterpret_cast<std::int8_t const*>(e.values);
        kept.emplace_back(m.device, sg::row_major(first, 1, e.count * static_cast<index>(sizeof(T))));
        auto const* const there = reinterpret_cast<T const*>(kept.back().data().address);
        return sg::bias_epilogue<T, sg::cuda_pointer<T const>>{{there}, e.count, e.axis};
    }
    template <class First, class Second>
    friend auto there(mirrored const& m, sg::then_epilogue<First, Second> const& e,
                      std::list<sg::cuda::matrix<std::int8_t>>& kept) {
        auto first = there(m, e.first, kept);
        auto second = there(m, e.second, kept);
        return sg::then_epilogue<decltype(first), decltype(second)>{first, second};
    }
};
template <class Base>
mirrored(sg::cuda, Base) -> mirrored<Base>;

} // namespace trials
