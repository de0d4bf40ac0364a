// Groups of products by one launch, or a few: of the blocked kernel, whose argument is then a table of products.
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
    cuda_group(cuda_session& session, CUstream stream, group<Problem> const& all)
        : session_(session), stream_(stream), all_(all) {
        if constexpr (has_epilogue)
            for (Problem const& p : all) epilogues_.emplace_back(p.epilogue);
        else
            epilogues_.emplace_back(identity{});
    }

    // Before anything is queued.
    status check(bool pointers) const {
        if (status s = session_.ready(); !s) return s;
        for (index i = 0; i < all_.count; ++i)
            if (status s = product::check(session_, all_.first[i], epilogue_of(i), pointers); !s) return s;
        return {};
    }

    // As kernels will see them.
    std::vector<cuda_sides> sides() const {
        std::vector<cuda_sides> all;
        all.reserve(static_cast<std::size_t>(all_.count));
        for (Problem const& p : all_) {
            cuda_sides s = product::sides_of(p);
            if (product::turns(p)) std::swap(s.m, s.n);
            if (p.alpha == Scalar(0)) s.k = 0;
            all.push_back(s);
        }
        return all;
    }

    // Queues those that are not alone. All kernels are there before the first is launched.
    status run(cuda_sharing const& sharing) const {
        std::vector<member> const members = members_of(sharing);
        std::vector<launch> launches;
        for (auto at = members.begin(); at != members.end();) {
            auto const end =
                std::find_if(at, members.end(), [&](member const& x) { return x.kind() != at->kind(); });
            cuda_form form;
            form.a_along_k = at->kind() & 1, form.b_along_k = at->kind() & 2;
            form.table = table_for(end - at), form.table_states = has_epilogue ? form.table : 1;
            auto const& epilogue = epilogue_of(at->place);
            auto compiled =
                session_.kernel({cuda_operation::product,
                                 {type_letter<In>(), type_letter<Out>()},
                                 sharing.tile,
                                 form,
                                 epilogue.text()},
                                [&] { return cuda_product_source<In, Out>(sharing.tile, form, epilogue); });
            if (!compiled) return compiled.take_status();
            launch one(**compiled, form);
            for (; at != end && one.count < form.table && one.blocks + at->tiles <= cuda_longest; ++at) {
                one.put(arguments_of(at->place), epilogue_of(at->place).bytes(), at->tiles);
            }
            if (one.count == 0)
                return error(errc::unsupported, "cuda",
                             "a product is too large for one launch; multiply blocks");
            launches.push_back(std::move(one));
        }
        for (launch const& one : launches) {
            cuda_grid const grid{static_cast<unsigned>(one.blocks),
                                 static_cast<unsigned>(threads_of(sharing.tile))};
            if (status s = session_.launch(stream_, *one.kernel, grid, one.table.front()); !s) return s;
        }
        return {};
    }

private:
    using state = typename cuda_epilogue<Scalar>::state;

    // A launch as blocked.cu.hpp takes it: the table is its only argument, so that there is nothing to bring to the
    // device and nothing that has to outlive the call.
    struct launch {
        cuda_compiled const* kernel;
        cuda_form form;
        std::vector<std::byte> table;
        int count = 0;
        index blocks = 0;

        launch(cuda_compiled const& k, cuda_form const& f)
            : kernel(&k), form(f), table(first_at() + rest()) {}
        void put(cuda_arguments<Scalar> const& x, state const& s, index tiles) {
            auto const at = static_cast<std::size_t>(count);
            auto const first = static_cast<int>(blocks);
            std::memcpy(table.data() + at * sizeof(x), &x, sizeof(x));
            if (has_epilogue || count == 0)
                std::memcpy(table.data() + states_at() + at * sizeof(s), s.data(), sizeof(s));
            std::memcpy(table.data() + first_at() + at * sizeof(int), &first, sizeof(int));
            ++count, blocks += tiles;
            std::memcpy(table.data() + first_at() + most() * sizeof(int), &count, sizeof(int));
        }
        std::size_t most() const { return static_cast<std::size_t>(form.table); }
        std::size_t states_at() const { return most() * sizeof(cuda_arguments<Scalar>); }
        std::size_t first_at() const {
            return states_at() + static_cast<std::size_t>(form.table_states) * sizeof(state);
        }
        std::size_t rest() const { return (most() + 2) / 2 * 2 * sizeof(int); }
    };

    // The products of a table that is not larger than it need be: of 4 KiB of arguments, or nearly 32 since CUDA 12.1.
    short table_for(std::ptrdiff_t products) const {
        constexpr std::size_t each =
            sizeof(cuda_arguments<Scalar>) + sizeof(int) + (has_epilogue ? sizeof(state) : 0);
        constexpr std::size_t fixed = 2 * sizeof(int) + (has_epilogue ? 0 : sizeof(state));
        constexpr short few = (4096 - fixed) / each, many = (32764 - fixed) / each;
        bool const large = session_.device().driver >= 12010 && cuda_compiler::get().number() >= 12010;
        return large && products > few ? many : few;
    }

    // A product that shares: operands lie, and epilogues are, as others' of its kind.
    struct member {
        std::uint64_t order; // the kind, and how much k is less than it might be
        index place, tiles;
        int kind() const { return static_cast<int>(order >> 32); }
    };
    // Kind by kind; the longest first, so that short ones fill the gaps at the end.
    std::vector<member> members_of(cuda_sharing const& sharing) const {
        std::vector<member> all;
        all.reserve(static_cast<std::size_t>(all_.count));
        std::vector<std::string> texts;
        for (index i = 0; i < all_.count; ++i) {
            if (sharing.alone[static_cast<std::size_t>(i)]) continue;
            Problem const& given = all_.first[i];
            if (is_empty(given)) continue;
            member next = as_oriented(given, [&](Problem const& p, bool) {
                std::uint64_t const kind =
                    (product::lying_a(p).along_k ? 1u : 0u) | (product::lying_b(p).along_k ? 2u : 0u);
                auto const short_of = static_cast<std::uint64_t>(cuda_longest - p.a.cols);
                return member{kind << 32 | short_of, i,
                              product::tiles_of(sharing.tile, product::sides_of(p)) * p.count};
            });
            if constexpr (has_epilogue) {
                auto const found = std::find(texts.begin(), texts.end(), epilogue_of(i).text());
                next.order |= static_cast<std::uint64_t>(found - texts.begin()) << 34;
                if (found == texts.end()) texts.push_back(epilogue_of(i).text());
            }
            all.push_back(next);
        }
        std::sort(all.begin(), all.end(), [](member const& x, member const& y) {
            return x.order != y.order ? x.order < y.order : x.place < y.place;
        });
        return all;
    }

    // Nothing of A and B is read if nothing of them counts; and infinity times nothing is nothing.
    cuda_arguments<Scalar> arguments_of(index i) const {
        auto x = as_oriented(all_.first[i],
                             [](Problem const& p, bool turned) { return product::arguments_of(p, turned); });
        if (x.k == 0 || x.alpha == Scalar(0)) x.k = 0, x.alpha = Scalar(0);
        return x;
    }
    // Most need not be copied for it.
    template <class F>
    static auto as_oriented(Problem const& p, F&& f) {
        return product::turns(p) ? f(product::oriented(p), true) : f(p, false);
    }
    cuda_epilogue<Scalar> const& epilogue_of(index i) const {
        return epilogues_[has_epilogue ? static_cast<std::size_t>(i) : 0];
    }

    cuda_session& session_;
    CUstream stream_;
    group<Problem> all_;
    std::vector<cuda_epilogue<Scalar>> epilogues_;
};

STRATAGEMM_END
