// Operands on the host, products elsewhere: A, B and E are brought into the memory of the base, C is brought
// back.
//
//   sg::gemm(sg::staged{gpu}, a, b, c);                 a, b, c on the host; gemm(gpu, a, b, c) does the same
//   sg::gemm(sg::staged{sg::strassen{gpu}}, a, b, c);   over any policy whose memory is not the host's
//
// Operands with whole rows or columns go across as they lie, gaps and all; others are packed on the way, in
// small pieces. The call returns when C is there. Everything has to fit in the base's memory at once. An
// epilogue that the base cannot run is run on the host, on the finished C.
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

// A layer over a device, such as strassen{gpu}, is not given host operands in silence: a copy there and back
// costs time.
template <class There>
requires(!std::is_same_v<There, host_memory>) struct refuse_space<There, host_memory> {
    static constexpr bool say() {
        static_assert(
            std::is_same_v<There, host_memory>,
            "stratagemm: the operands are in host memory and the policy is on a device: put staged{} around "
            "the policy, or the operands into matrices of the device");
        return false;
    }
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
        auto const bytes = [&](index_t rows, index_t cols, std::size_t size) {
            return arena::rounded(static_cast<std::size_t>(s.count * rows * cols) * size);
        };
        std::size_t const a = bytes(s.m, s.k, sizeof(typename S::a_type)),
                          b = bytes(s.k, s.n, sizeof(typename S::b_type)),
                          c = bytes(s.m, s.n, sizeof(typename S::c_type));
        footprint f = base_.workspace(s);
        there::share(f) += a + b + (s.adds ? 2 : 1) * c;
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
        status queued = queue(p, memory.base());
        // Also after an error: what was queued before it may read the caller's memory.
        status done = base_.leaf().synchronize();
        if (!queued) return queued;
        if (!done) return done;
        if constexpr (!fuses<Problem>)
            for (index_t i = 0; i < p.count; ++i)
                if (status s = leaf().apply(p.epilogue, p.at(i).c, p.row0, p.col0); !s) return s;
        return {};
    }

private:
    // All that the base's queue is to do, back to the copy of C.
    template <class Problem>
    status queue(Problem const& p, typename Base::arena& memory) const {
        typename Base::arena::scope const until_queued(memory);
        using Epilogue = std::conditional_t<fuses<Problem>, typename Problem::epilogue_type, identity>;
        counterpart<Problem, Epilogue> q;
        q.alpha = p.alpha, q.beta = p.beta, q.count = p.count, q.row0 = p.row0, q.col0 = p.col0;
        if constexpr (fuses<Problem>) q.epilogue = p.epilogue;
        bool const adds = p.beta != typename Problem::scalar(0);

        if (status s = bring(p.a, p.a_step, p.count, q.a, q.a_step, memory); !s) return s;
        if (status s = bring(p.b, p.b_step, p.count, q.b, q.b_step, memory); !s) return s;
        if (adds)
            if (status s = bring(p.e, p.e_step, p.count, q.e, q.e_step, memory); !s) return s;
        staging<typename Problem::c_type> const back(p.c, p.c_step, p.count, memory);
        q.c = back.first, q.c_step = back.step;
        if (!adds) q.e = q.c, q.e_step = q.c_step;
        if (status s = base_(q, memory); !s) return s;
        return back.each_block(p.c, p.c_step, [&](auto const& here, auto const& over) {
            return base_.leaf().copy_async(over, here);
        });
    }

    // Room for a (batch of) matrices without gaps, in the order in which those on the host lie. One that is
    // repeated is one.
    template <class T>
    struct staging {
        bool by_rows;
        index_t matrices, step;
        view<T, there> first;

        template <class V>
        staging(V const& host, index_t host_step, index_t count, typename Base::arena& memory)
            : by_rows(magnitude(host.col_stride) <= magnitude(host.row_stride)),
              matrices(host_step == 0 ? 1 : count), step(host_step == 0 ? 0 : host.rows * host.cols) {
            auto const data = memory.template take<T>(matrices * host.rows * host.cols);
            first = {data, host.rows, host.cols, by_rows ? host.cols : 1, by_rows ? 1 : host.rows};
        }

        // f(block of the host's, block there) for all of it: at once where the lines of all matrices, or the
        // matrices themselves, follow each other at one pitch.
        template <class V, class F>
        status each_block(V host, index_t host_step, F&& f) const {
            host.conjugate = false;
            view<T, there> over = first;
            index_t const lines = by_rows ? host.rows : host.cols, length = by_rows ? host.cols : host.rows;
            index_t const pitch = by_rows ? host.row_stride : host.col_stride,
                          unit = by_rows ? host.col_stride : host.row_stride;
            if (matrices > 1 && (lines == 1 || host_step == lines * pitch)) {
                (by_rows ? host.rows : host.cols) = (by_rows ? over.rows : over.cols) = lines * matrices;
                (by_rows ? host.row_stride : host.col_stride) = lines == 1 ? host_step : pitch;
                return f(host, over);
            }
            if (matrices > 1 && unit == 1 && pitch == length) {
                host.rows = over.rows = matrices, host.cols = over.cols = step;
                host.row_stride = host_step, over.row_stride = step;
                host.col_stride = over.col_stride = 1;
                return f(host, over);
            }
            for (index_t i = 0; i < matrices; ++i) {
                if (status s = f(host, over); !s) return s;
                host.data += host_step, over.data = over.data + step;
            }
            return {};
        }
    };

    template <class T, class To>
    status bring(view<T const> const& from, index_t host_step, index_t count, To& to, index_t& step,
                 typename Base::arena& memory) const {
        staging<T> const room(from, host_step, count, memory);
        to = room.first, to.conjugate = from.conjugate;
        step = room.step;
        return room.each_block(from, host_step, [&](auto const& here, auto const& over) {
            return base_.leaf().copy_async(here, over);
        });
    }

    Base base_;
};

STRATAGEMM_END
