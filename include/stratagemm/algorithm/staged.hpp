// Operands on the host, products elsewhere: A, B and E are brought into the memory of the base, C is brought back.
//
//   sg::gemm(sg::staged{gpu}, a, b, c);                 a, b, c on the host; gemm(gpu, a, b, c) does the same
//   sg::gemm(sg::staged{sg::strassen{gpu}}, a, b, c);   over any policy whose memory is not the host's
//
// What has gaps or odd strides goes through a block of host memory. The call returns when C is there. Everything has
// to fit in the base's memory at once. An epilogue that the base cannot run is run on the host, on the finished C.
#pragma once

#include "../backend/host/memory.hpp"

STRATAGEMM_BEGIN

// Host memory, and that of the base beside it.
template <class Arena>
class staged_arena : public host_arena {
public:
    staged_arena() = default;
    staged_arena(host_arena own, Arena base) : host_arena(std::move(own)), base_(std::move(base)) {}
    bool fits(footprint f) const { return host_arena::fits(f) && base_.fits(f); }
    Arena& base() { return base_; }

private:
    Arena base_;
};

template <policy Base>
class staged {
public:
    using space = host_memory;
    using there = typename Base::space;
    using arena = staged_arena<typename Base::arena>;

    explicit staged(Base base) : base_(std::move(base)) {
        static_assert(!std::is_same_v<there, host_memory>,
                      "stratagemm: staged is for a base whose memory is not the host's");
    }

    template <class P, class Epilogue>
    using counterpart =
        dense_problem<typename P::a_type, typename P::b_type, typename P::c_type, there, Epilogue>;
    template <class P>
    static constexpr bool fuses = takes<Base, counterpart<P, typename P::epilogue_type>>;
    template <class P>
    static constexpr verdict accepts = answer<Base, counterpart<P, identity>>();

    host_operations leaf() const { return {}; }

    result<arena> reserve(footprint f) const {
        auto base = base_.reserve(f);
        if (!base) return base.take_status();
        auto own = reserve_host(f, "staged");
        if (!own) return own.take_status();
        return arena(std::move(*own), std::move(*base));
    }

    template <class S>
    footprint workspace(S const& s) const {
        auto const bytes = [&](index rows, index cols, std::size_t size) {
            return arena::rounded(static_cast<std::size_t>(s.count * rows * cols) * size);
        };
        std::size_t const a = bytes(s.m, s.k, sizeof(typename S::a_type)),
                          b = bytes(s.k, s.n, sizeof(typename S::b_type)),
                          c = bytes(s.m, s.n, sizeof(typename S::c_type));
        footprint f = base_.workspace(s);
        there::share(f) += a + b + (s.adds ? 2 : 1) * c;
        f.host += larger(a, larger(b, c));
        return f;
    }
    template <class S>
    bound error_bound(S const& s) const {
        return base_.error_bound(s);
    }
    // What comes and goes beside the product, at about the speed of PCIe.
    template <class S>
    double estimate(S const& s) const {
        return base_.estimate(s) + operand_bytes(s) / 10e9 + 20e-6;
    }
    template <class S>
    std::string describe(S const& s) const {
        return "staged over " + base_.describe(s);
    }

    template <class Problem>
    status operator()(Problem const& p, arena& memory) const {
        typename host_arena::scope const own(memory);
        typename Base::arena::scope const until_return(memory.base());
        using Epilogue = std::conditional_t<fuses<Problem>, typename Problem::epilogue_type, identity>;
        counterpart<Problem, Epilogue> q;
        q.alpha = p.alpha, q.beta = p.beta, q.count = p.count, q.row0 = p.row0, q.col0 = p.col0;
        if constexpr (fuses<Problem>) q.epilogue = p.epilogue;
        bool const adds = p.beta != typename Problem::scalar(0);

        if (status s = bring(p.a, p.a_step, p.count, q.a, q.a_step, memory); !s) return s;
        if (status s = bring(p.b, p.b_step, p.count, q.b, q.b_step, memory); !s) return s;
        if (adds)
            if (status s = bring(p.e, p.e_step, p.count, q.e, q.e_step, memory); !s) return s;
        staging<typename Problem::c_type> const back(p.c, p.count, p.c_step);
        q.c = back.view_of(memory.base().template take<typename Problem::c_type>(back.size()));
        q.c_step = back.step;
        if (!adds) q.e = q.c, q.e_step = q.c_step;
        if (status s = base_(q, memory.base()); !s) return s;
        if (status s = fetch(q.c.data, back, p, memory); !s) return s;

        if constexpr (!fuses<Problem>)
            for (index i = 0; i < p.count; ++i)
                if (status s = leaf().apply(p.epilogue, p.at(i).c, p.row0, p.col0); !s) return s;
        return {};
    }

private:
    // A (batch of) matrices without gaps, in the order in which those on the host lie. One that is repeated is one.
    template <class T>
    struct staging {
        index rows, cols, matrices, step;
        bool by_rows, dense;

        template <class V>
        staging(V const& v, index count, index host_step)
            : rows(v.rows), cols(v.cols), matrices(host_step == 0 ? 1 : count),
              step(host_step == 0 ? 0 : v.rows * v.cols),
              by_rows(magnitude(v.col_stride) <= magnitude(v.row_stride)) {
            index const line = by_rows ? v.row_stride : v.col_stride,
                        unit = by_rows ? v.col_stride : v.row_stride;
            dense =
                unit == 1 && line == (by_rows ? cols : rows) && (matrices == 1 || host_step == rows * cols);
        }
        index size() const { return matrices * rows * cols; }
        template <class Handle>
        auto view_of(Handle data) const {
            using Space = std::conditional_t<std::is_pointer_v<Handle>, host_memory, there>;
            return view<T, Space>{data, rows, cols, by_rows ? cols : 1, by_rows ? 1 : rows};
        }
    };

    template <class T, class To>
    status bring(view<T const> const& from, index host_step, index count, To& to, index& step,
                 arena& memory) const {
        staging<T> const packed(from, count, host_step);
        auto const place = memory.base().template take<T>(packed.size());
        to = packed.view_of(place);
        to.conjugate = from.conjugate;
        step = packed.step;
        if (packed.dense) return base_.leaf().upload(from.data, place, packed.size());
        typename host_arena::scope const until_sent(memory);
        T* const block = memory.template take<T>(packed.size());
        for (index i = 0; i < packed.matrices; ++i) {
            view<T const> one = from;
            one.data = from.data + i * host_step, one.conjugate = false;
            if (status s = leaf().copy(one, packed.view_of(block + i * packed.step)); !s) return s;
        }
        return base_.leaf().upload(static_cast<T const*>(block), place, packed.size());
    }

    template <class Handle, class T, class Problem>
    status fetch(Handle from, staging<T> const& packed, Problem const& p, arena& memory) const {
        if (packed.dense) return base_.leaf().download(from, p.c.data, packed.size());
        T* const block = memory.template take<T>(packed.size());
        if (status s = base_.leaf().download(from, block, packed.size()); !s) return s;
        for (index i = 0; i < packed.matrices; ++i)
            if (status s = leaf().copy(packed.view_of(block + i * packed.step), p.at(i).c); !s) return s;
        return {};
    }

    Base base_;
};

STRATAGEMM_END
