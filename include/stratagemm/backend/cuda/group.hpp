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
            if (Problem const& p = all_.first[i]; !is_empty(p)) {
                bool const multiplies = p.a.cols > 0 && p.alpha != Scalar(0);
                if (status s = product::check(session_, p, epilogue_of(i), pointers && multiplies); !s)
                    return in_group(all_, p, s.error());
            }
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

    // Products of a launch.
    int most() const { return takes_many() ? many : few; }

    // Queues those that are not alone. All kernels are there before the first is launched.
    status run(cuda_sharing const& sharing) const {
        std::vector<member> const members = members_of(sharing);
        std::vector<launch> launches;
        for (auto at = members.begin(); at != members.end();) {
            auto const end =
                std::find_if(at, members.end(), [&](member const& x) { return x.kind != at->kind; });
            cuda_form form;
            form.a_along_k = at->kind & 1, form.b_along_k = at->kind & 2;
            form.table = takes_many() && end - at > few ? many : few;
            form.table_states = has_epilogue ? form.table : 1;
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
            for (; at != end && one.count < form.table && one.blocks + at->tiles <= cuda_longest; ++at)
                one.put(arguments_of(at->place), epilogue_of(at->place).bytes(), at->tiles);
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

    // The bytes of arguments that a launch takes: since CUDA 12.1 more.
    bool takes_many() const {
        return session_.device().driver >= 12010 && cuda_compiler::get().number() >= 12010;
    }
    static constexpr short products_in(std::size_t bytes) {
        constexpr std::size_t each =
            sizeof(cuda_arguments<Scalar>) + sizeof(int) + (has_epilogue ? sizeof(state) : 0);
        constexpr std::size_t fixed = 2 * sizeof(int) + (has_epilogue ? 0 : sizeof(state));
        return static_cast<short>((bytes - fixed) / each);
    }
    static constexpr short few = products_in(4096), many = products_in(32764);

    // A product that shares. Its kind: operands lie, and epilogues are, as others' of that kind.
    struct member {
        int kind;
        int order; // kind by kind, and the longest first, so that short ones fill the gaps at the end
        index place, tiles;
    };
    std::vector<member> members_of(cuda_sharing const& sharing) const {
        constexpr int lengths = 64;
        std::vector<member> drawn;
        drawn.reserve(static_cast<std::size_t>(all_.count));
        std::vector<std::string> texts;
        for (index i = 0; i < all_.count; ++i) {
            if (sharing.alone[static_cast<std::size_t>(i)]) continue;
            Problem const& given = all_.first[i];
            if (is_empty(given)) continue;
            member next = as_oriented(given, [&](Problem const& p, bool) {
                return member{(product::lying_a(p).along_k ? 1 : 0) | (product::lying_b(p).along_k ? 2 : 0),
                              0, i, product::tiles_of(sharing.tile, product::sides_of(p)) * p.count};
            });
            if constexpr (has_epilogue) {
                auto const found = std::find(texts.begin(), texts.end(), epilogue_of(i).text());
                next.kind |= static_cast<int>(found - texts.begin()) << 2;
                if (found == texts.end()) texts.push_back(epilogue_of(i).text());
            }
            index const length = given.a.cols / 8;
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
