// Groups of products by one launch, or a few: of the blocked kernel, whose argument is then a table of
// products.
#pragma once

#include "../../core/group.hpp"
#include "product.hpp"

#include <algorithm>

STRATAGEMM_BEGIN

template <class Problem>
class cuda_group {
    using In = typename Problem::a_type;
    using Out = typename Problem::c_type;
    using Scalar = typename Problem::scalar;
    using product = cuda_product<Problem>;
    static constexpr bool has_epilogue = !std::is_same_v<typename Problem::epilogue_type, identity>;

public:
    cuda_group(cuda_session& session, CUstream stream, group<Problem> const& all, bool invariant)
        : session_(session), stream_(stream), all_(all), invariant_(invariant) {
        auto const count = static_cast<std::size_t>(all.count);
        sides_.reserve(count), kinds_.reserve(count);
        for (Problem const& p : all) {
            bool const turned = product::turns(p, invariant);
            cuda_sides s = sides_of(p);
            if (turned) std::swap(s.m, s.n);
            if (p.alpha == Scalar(0)) s.k = 0;
            sides_.push_back(s);
            bool const a_along_k = cuda_along_k(p.a.rows, p.a.row_stride, p.a.col_stride);
            bool const b_along_k = cuda_along_k(p.b.cols, p.b.col_stride, p.b.row_stride);
            kinds_.push_back(
                static_cast<char>((turned ? b_along_k : a_along_k) + 2 * (turned ? a_along_k : b_along_k)));
            if constexpr (has_epilogue) epilogues_.emplace_back(p.epilogue);
        }
        if constexpr (!has_epilogue) epilogues_.emplace_back(identity{});
    }

    // Before anything is queued.
    status check(bool pointers) const {
        if (status s = session_.ready(); !s) return s;
        index_t bits = 0; // of all sides: one look at the products is enough for most groups
        for (cuda_sides const& s : sides_) bits |= s.m | s.n | s.k | s.count;
        if (!pointers && !has_epilogue && bits <= device_longest) return {};
        for (index_t i = 0; i < all_.count; ++i)
            if (Problem const& p = all_.first[i]; !is_empty(p)) {
                bool const multiplies = p.a.cols > 0 && p.alpha != Scalar(0);
                if (status s = product::check(session_, p, epilogue_of(i), pointers && multiplies); !s)
                    return in_group(all_, p, s.error());
            }
        return {};
    }

    // As kernels will see them.
    std::vector<cuda_sides> const& sides() const { return sides_; }

    // Products of a launch.
    int most() const { return takes_many() ? many : few; }

    // Queues those that are not alone. All kernels are there before the first is launched; the device begins
    // with one launch while the next is written down.
    // `piece_of` says how deep the pieces of k are, if the products are invariant.
    template <class PieceOf>
    status run(cuda_sharing const& sharing, PieceOf const& piece_of) const {
        std::vector<member> const members = members_of(sharing);
        struct part {
            cuda_compiled const* kernel;
            cuda_form form;
            typename std::vector<member>::const_iterator end;
        };
        std::vector<part> parts; // a kind each
        for (auto at = members.begin(); at != members.end();) {
            int const kind = at->kind;
            index_t const place = at->place;
            auto const end = std::find_if(at, members.end(), [&](member const& x) { return x.kind != kind; });
            cuda_form form;
            form.a_along_k = kind & 1, form.b_along_k = kind & 2;
            form.table = end - at <= few || !takes_many() ? few : end - at <= some ? some : many;
            form.table_states = has_epilogue ? form.table : 1;
            form.invariant = form.pieces = invariant_;
            auto const& epilogue = epilogue_of(place);
            auto compiled =
                session_.kernel({cuda_operation::product,
                                 {type_letter<In>(), type_letter<Out>()},
                                 sharing.tile,
                                 form,
                                 epilogue.text()},
                                [&] { return cuda_product_source<In, Out>(sharing.tile, form, epilogue); });
            if (!compiled) return compiled.take_status();
            parts.push_back({*compiled, form, end});
            for (; at != end; ++at)
                if (at->tiles > device_longest)
                    return error(errc::unsupported,
                                 "cuda: a product is too large for one launch; multiply blocks");
        }
        auto at = members.begin();
        for (part const& p : parts)
            while (at != p.end) {
                table t(p.form.table, at != members.begin());
                for (; at != p.end && t.count < p.form.table && t.blocks + at->tiles <= device_longest; ++at)
                    t.put(all_.first[at->place], invariant_, piece_of(all_.first[at->place].a.cols),
                          epilogue_of(at->place).bytes(), at->tiles);
                cuda_grid const grid{static_cast<unsigned>(t.blocks),
                                     static_cast<unsigned>(threads_of(sharing.tile))};
                if (status s = session_.launch(stream_, *p.kernel, grid, t.bytes.front()); !s) return s;
            }
        return {};
    }

private:
    using state = typename cuda_epilogue<Scalar>::state;
    using arguments = cuda_arguments<Scalar>;

    // As blocked.cu.hpp takes it: the only argument, so that there is nothing to bring to the device and
    // nothing that has to outlive the call.
    struct table {
        std::size_t most, states, firsts; // where the parts of it are
        std::vector<std::byte> bytes;
        int count = 0;
        index_t blocks = 0;

        table(short products, bool follows_another)
            : most(static_cast<std::size_t>(products)), states(most * sizeof(arguments)),
              firsts(states + (has_epilogue ? most : 1) * sizeof(state)),
              bytes(firsts + (most + 3) / 2 * 2 * sizeof(int)) {
            int const follows = follows_another;
            std::memcpy(bytes.data() + firsts + (most + 1) * sizeof(int), &follows, sizeof(int));
        }
        void put(Problem const& p, bool invariant, index_t piece, state const& s, index_t tiles) {
            auto const at = static_cast<std::size_t>(count);
            auto const first = static_cast<int>(blocks);
            arguments* const x = as_oriented(p, invariant, [&](Problem const& q, bool turned) {
                return ::new (bytes.data() + at * sizeof(arguments))
                    arguments(product::arguments_of(q, turned));
            });
            x->part = static_cast<int>(piece);
            // Nothing of A and B is read if nothing of them counts; and infinity times nothing is nothing.
            if (x->k == 0 || x->alpha == Scalar(0)) x->k = 0, x->alpha = Scalar(0);
            if (has_epilogue || count == 0)
                std::memcpy(bytes.data() + states + at * sizeof(s), s.data(), sizeof(s));
            std::memcpy(bytes.data() + firsts + at * sizeof(int), &first, sizeof(int));
            ++count, blocks += tiles;
            std::memcpy(bytes.data() + firsts + most * sizeof(int), &count, sizeof(int));
        }
    };

    // The bytes of arguments that a launch takes: since CUDA 12.1 more.
    bool takes_many() const {
        return session_.device().driver >= 12010 && cuda_compiler::get().number() >= 12010;
    }
    static constexpr short products_in(std::size_t bytes) {
        constexpr std::size_t each =
            sizeof(cuda_arguments<Scalar>) + sizeof(int) + (has_epilogue ? sizeof(state) : 0);
        constexpr std::size_t fixed = 3 * sizeof(int) + (has_epilogue ? 0 : sizeof(state));
        return static_cast<short>((bytes - fixed) / each);
    }
    static constexpr short few = products_in(4096), some = products_in(12288), many = products_in(32764);

    // A product that shares. Its kind: operands lie, and epilogues are, as others' of that kind.
    struct member {
        int kind;
        int order; // kind by kind, and the longest first, so that short ones fill the gaps at the end
        index_t place, tiles;
    };
    std::vector<member> members_of(cuda_sharing const& sharing) const {
        constexpr int lengths = 64;
        std::vector<member> drawn;
        drawn.reserve(sides_.size());
        std::vector<std::string> texts;
        for (std::size_t i = 0; i < sides_.size(); ++i) {
            cuda_sides const& s = sides_[i];
            if (sharing.alone[i] || s.m == 0 || s.n == 0 || s.count == 0) continue;
            auto const place = static_cast<index_t>(i);
            member next{kinds_[i], 0, place, product::tiles_of(sharing.tile, s) * s.count};
            if constexpr (has_epilogue) {
                auto const found = std::find(texts.begin(), texts.end(), epilogue_of(place).text());
                next.kind |= static_cast<int>(found - texts.begin()) << 2;
                if (found == texts.end()) texts.push_back(epilogue_of(place).text());
            }
            index_t const length = s.k / 8;
            next.order = next.kind * lengths + static_cast<int>(length < lengths ? lengths - 1 - length : 0);
            drawn.push_back(next);
        }
        // By counting: there are few orders.
        std::vector<std::size_t> at((texts.size() + 1) * 4 * lengths + 1);
        for (member const& x : drawn) ++at[static_cast<std::size_t>(x.order) + 1];
        for (std::size_t i = 1; i < at.size(); ++i) at[i] += at[i - 1];
        std::vector<member> all(drawn.size());
        for (member const& x : drawn) all[at[static_cast<std::size_t>(x.order)]++] = x;
        return all;
    }

    // Most need not be copied for it.
    template <class F>
    static auto as_oriented(Problem const& p, bool invariant, F&& f) {
        return product::turns(p, invariant) ? f(p.transposed(), true) : f(p, false);
    }
    cuda_epilogue<Scalar> const& epilogue_of(index_t i) const {
        return epilogues_[has_epilogue ? static_cast<std::size_t>(i) : 0];
    }

    cuda_session& session_;
    CUstream stream_;
    group<Problem> all_;
    bool invariant_;
    std::vector<cuda_epilogue<Scalar>> epilogues_;
    std::vector<cuda_sides> sides_;
    std::vector<char> kinds_; // how operands lie
};

STRATAGEMM_END
