// Groups of products by one launch, or a few launches, of the blocked kernel, except those that are faster with a
// separate launch. The argument of the kernel is then a table of products. All launches are on the stream.
#pragma once

#include "../../core/group.hpp"
#include "prepared.hpp"

#include <algorithm>
#include <vector>

STRATAGEMM_BEGIN

// How a group is multiplied: by launches of one tile that products share, or by separate launches.
struct cuda_sharing {
    cuda_blocked tile;
    std::vector<char> alone; // whether each of them is
};

// Whether a product always shares launches: it has few tiles, and one block each computes them soon.
inline bool surely_shares(cuda_sides const& s) {
    return s.k <= 256 && s.count <= 64 && s.m < 256 && s.n < 256 &&
           (s.m + 64) * (s.n + 64) * s.count <= 192 * 192;
}

// Multiply-adds in a cycle of a multiprocessor with the fastest tile for that type.
inline double fastest_rate(cuda_device const& d, char type, std::size_t element) {
    double fastest = 1;
    for_each_built_in([&]<class Tile>(cuda_built_in<Tile> const& e) {
        if (!std::strchr(e.types, type) || !Tile::takes_type(d, type) || !e.tile.can_run(d, element)) return;
        cuda_tile_costs_of const& row = tile_costs_of(Tile::name, type);
        cuda_sides const one{e.tile.m, e.tile.n, e.tile.k, 1};
        cuda_query const q{.device = d, .type = type, .element = element, .sides = one};
        double const rate = cuda_tile_counts(q, e.tile, e.blocks, cuda_way())
                                .rate(row.costs, static_cast<double>(row.slower[&e - cuda_tiles_of<Tile>]));
        if (rate > fastest) fastest = rate;
    });
    return fastest;
}

// How a group is shared out. At most `table` products share a launch. Times are in cycles, and rough for a product that
// is alone: to choose a kernel for each product would take longer than to run it.
class cuda_share_out {
public:
    // `only`: the tile that the caller wants, if any.
    cuda_share_out(cuda_device const& d, char type, std::size_t element, std::vector<cuda_sides> const& all,
                   int table, cuda_blocked const* only)
        : units_(d.units), element_(element), table_(table), any_(!only), all_(all),
          fastest_(any_ ? fastest_rate(d, type, element) : 1) {
        surely_.reserve(all.size());
        for (cuda_sides const& s : all)
            surely_.push_back(surely_shares(s)), all_surely_ &= surely_.back() != 0;
        if (only) try_tile({{"", *only, 1}, 1});
        for (cuda_group_tile const& e : cuda_group_tiles)
            if (any_ && std::strchr(e.types, type)) try_tile(e);
    }
    cuda_sharing best;

private:
    struct sums {
        double tiles = 0, together = 0; // cycles of all, side by side
        double deepest = 0;             // k
    };

    void try_tile(cuda_group_tile const& e) {
        sums none;
        none.together = 1e300;
        sums const all_together = share(e, none);
        if (!all_surely_ && until(e, all_together.deepest, all_together.tiles) > all_together.together)
            share(e, all_together);
    }
    // If `before` says that the launch would wait for its longest tiles, their products get separate launches if that
    // is faster.
    sums share(cuda_group_tile const& e, sums const& before) {
        cuda_blocked const& t = e.tile;
        double const area = static_cast<double>(t.m) * t.n, size = area / static_cast<double>(e.rate);
        double const once =
            6000.0 / e.blocks + area * static_cast<double>(element_) / 14; // begins, is stored
        bool const waits = until(e, before.deepest, before.tiles) > before.together;
        sums shared;
        double apart = 0;
        int sharing = 0;
        std::vector<char> alone(all_.size());
        for (std::size_t i = 0; i < all_.size(); ++i) {
            cuda_sides const& s = all_[i];
            double const tiles = tiles_along(s.m, t.m) * tiles_along(s.n, t.n) * static_cast<double>(s.count);
            auto const depth = static_cast<double>(s.k);
            double const share = tiles * (size * (depth + t.k) + once) / units_;
            if (!surely_[i] && (share > 10000 || waits)) {
                double const own = cycles_alone(s), end = waits ? until(e, depth, before.tiles) : 0;
                if ((any_ && own < share) || (end > before.together && own < end)) {
                    alone[i] = true, apart += own;
                    continue;
                }
            }
            ++sharing, shared.tiles += tiles, shared.together += share;
            if (depth > shared.deepest) shared.deepest = depth;
        }
        double const end = until(e, shared.deepest, shared.tiles);
        double const launches = (sharing + table_ - 1) / table_;
        double const cycles = apart + (shared.together > end ? shared.together : end) + 2000 * launches;
        if (best.tile.m == 0 || cycles < least_) best = {t, std::move(alone)}, least_ = cycles;
        return shared;
    }
    double cycles_alone(cuda_sides const& s) const {
        double const work = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) *
                            static_cast<double>(s.count);
        return 10000 + 1.3 * work / (fastest_ * units_);
    }
    // A launch ends with its deepest tile. This tile began beside others, after its place in the table was found. When
    // the tile runs alone it has less than twice its share of the rate, and waits for memory at each of its steps.
    double until(cuda_group_tile const& e, double depth, double tiles) const {
        cuda_blocked const& t = e.tile;
        double const present = tiles / units_, fewest = 0.6 * e.blocks;
        double const beside = present > e.blocks ? e.blocks : present > fewest ? present : fewest;
        double const multiplying = static_cast<double>(t.m) * t.n / static_cast<double>(e.rate) * beside;
        double const waiting = 1400.0 / t.k;
        return 10000 + (depth + t.k) * (multiplying > waiting ? multiplying : waiting);
    }
    // Ints divide sooner, and sides are ints to kernels.
    static double tiles_along(std::ptrdiff_t side, short tile) {
        auto const up = static_cast<unsigned>(side) + static_cast<unsigned>(tile) - 1;
        return static_cast<double>(up / static_cast<unsigned>(tile));
    }

    int units_;
    std::size_t element_;
    int table_;
    bool any_; // of the tiles
    std::vector<cuda_sides> const& all_;
    double fastest_;
    std::vector<char> surely_; // each of them shares
    bool all_surely_ = true;
    double least_ = 0;
};

template <class Problem>
class cuda_prepared_group {
    using In = typename Problem::a_type;
    using Out = typename Problem::c_type;
    using Scalar = typename Problem::scalar;
    using product = cuda_product<Problem>;
    static constexpr bool has_epilogue = !std::is_same_v<typename Problem::epilogue_type, identity>;

public:
    cuda_prepared_group(cuda_chooser const& by, group<Problem> const& all) : by_(by), all_(all) {
        auto const count = static_cast<std::size_t>(all.count);
        bool const in_order = by.in_order<In>();
        sides_.reserve(count), kinds_.reserve(count), turned_.reserve(count);
        for (Problem const& p : all) {
            bool const turned = product::turns(p, in_order);
            cuda_sides s = sides_of(p);
            if (turned) std::swap(s.m, s.n);
            if (p.alpha == Scalar(0)) s.k = 0;
            sides_.push_back(s), turned_.push_back(turned);
            bool const a_along_k = cuda_along_k(p.a.rows, p.a.row_stride, p.a.col_stride);
            bool const b_along_k = cuda_along_k(p.b.cols, p.b.col_stride, p.b.row_stride);
            kinds_.push_back(
                static_cast<char>((turned ? b_along_k : a_along_k) + 2 * (turned ? a_along_k : b_along_k)));
            if constexpr (has_epilogue) epilogues_.emplace_back(p.epilogue);
        }
        if constexpr (!has_epilogue) epilogues_.emplace_back(identity{});
        sharing_ = share();
        for (index_t i = 0; i < all.count; ++i)
            if (Problem const& p = all.first[i]; is_alone(i) && !is_empty(p) && !sums_nothing(p))
                alone_.emplace_back(by_, p);
    }

    footprint workspace() const {
        footprint most;
        for (cuda_prepared<Problem> const& p : alone_) most = larger(most, p.workspace());
        return most;
    }

    // All kernels of products that share are compiled before the first launch; the device begins with one launch while
    // the host writes the next.
    status run(cuda_arena& memory) {
        return or_no_memory([&]() -> status {
            if (status s = check(); !s) return s;
            if (status s = run_shared(); !s) return s;
            auto next = alone_.begin();
            for (index_t i = 0; i < all_.count; ++i)
                if (Problem const& p = all_.first[i]; is_alone(i) && !is_empty(p)) {
                    status s = sums_nothing(p) ? scale_only(cuda_operations(by_.session, by_.stream), p)
                                               : (next++)->run(memory);
                    if (!s) return s;
                }
            return {};
        });
    }

private:
    // Checks the operands before anything is queued.
    status check() const {
        if (status s = by_.session.ready(); !s) return s;
        index_t bits = 0; // of all sides: one look at the products is enough for most groups
        for (cuda_sides const& s : sides_) bits |= s.m | s.n | s.k | s.count;
        if (!by_.check_pointers && !has_epilogue && bits <= device_longest) return {};
        for (index_t i = 0; i < all_.count; ++i)
            if (Problem const& p = all_.first[i]; !is_empty(p)) {
                bool const follows = by_.check_pointers && !sums_nothing(p);
                if (status s = product::check(by_.session, p, epilogue_of(i), follows); !s)
                    return in_group(all_, p, s.error());
            }
        return {};
    }

    bool is_alone(index_t i) const { return sharing_.alone[static_cast<std::size_t>(i)]; }
    // Products share no launches if the caller wants a tile of another engine.
    cuda_sharing share() const {
        cuda_device const& d = by_.session.device();
        cuda_blocked const* const only = by_.tile.template as<cuda_blocked>();
        if (by_.tile.is_given() && !only) return {{}, std::vector<char>(sides_.size(), true)};
        char const letter = by_.letter<In>();
        int const most = takes_many() ? many : few; // of a launch
        cuda_sharing sharing = cuda_share_out(d, letter, sizeof(In), sides_, most, only).best;
        if (by_.in_order<In>())
            for (std::size_t i = 0; i < sides_.size(); ++i)
                sharing.alone[i] |= !cuda_blocked::keeps_order(cuda_order(d, letter, sides_[i].k), letter, d);
        return sharing;
    }
    // How deep the pieces of k are, if the products are invariant.
    index_t piece_of(index_t k) const {
        if (!by_.in_order<In>()) return 0;
        index_t const piece = cuda_order(by_.session.device(), by_.letter<In>(), k).piece;
        return piece > 0 ? piece : device_longest;
    }

    status run_shared() const {
        std::vector<member> const members = members_of();
        struct part {
            cuda_compiled const* kernel;
            cuda_form form;
            typename std::vector<member>::const_iterator end;
        };
        std::vector<part> parts; // a kind each
        cuda_blocked const& tile = sharing_.tile;
        for (auto at = members.begin(); at != members.end();) {
            int const kind = at->kind;
            auto const end = std::find_if(at, members.end(), [&](member const& x) { return x.kind != kind; });
            cuda_form form;
            form.a_along_k = kind & 1, form.b_along_k = kind & 2;
            form.table = end - at <= few || !takes_many() ? few : end - at <= some ? some : many;
            form.table_states = has_epilogue ? form.table : 1;
            form.invariant = form.pieces = by_.in_order<In>();
            auto const& epilogue = epilogue_of(at->place);
            auto compiled =
                by_.session.kernel({cuda_operation::product,
                                    {type_letter<In>(), type_letter<Out>()},
                                    tile,
                                    form,
                                    epilogue.text()},
                                   [&] { return cuda_product_source<In, Out>(tile, form, epilogue); });
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
                    t.put(all_.first[at->place], turned_[static_cast<std::size_t>(at->place)],
                          piece_of(all_.first[at->place].a.cols), epilogue_of(at->place).bytes(), at->tiles);
                cuda_grid const grid{static_cast<unsigned>(t.blocks), static_cast<unsigned>(tile.threads())};
                if (status s = by_.session.launch(by_.stream, *p.kernel, grid, t.bytes.front()); !s) return s;
            }
        return {};
    }

    using state = typename cuda_epilogue<Scalar>::state;
    using arguments = cuda_arguments<Scalar>;

    // The table as blocked.cu.hpp takes it. The table is the only argument, so no memory has to be copied to the
    // device, and none has to outlive the call.
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
        void put(Problem const& p, bool turned, index_t piece, state const& s, index_t tiles) {
            auto const at = static_cast<std::size_t>(count);
            auto const first = static_cast<int>(blocks);
            arguments* const x = ::new (bytes.data() + at * sizeof(arguments)) arguments(
                turned ? product::arguments_of(p.transposed(), true) : product::arguments_of(p, false));
            x->part = static_cast<int>(piece);
            // If k or alpha is zero, A and B are not read; infinity times zero is zero here.
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
        return by_.session.device().driver >= 12010 && cuda_compiler::get().number() >= 12010;
    }
    static constexpr short products_in(std::size_t bytes) {
        constexpr std::size_t each =
            sizeof(cuda_arguments<Scalar>) + sizeof(int) + (has_epilogue ? sizeof(state) : 0);
        constexpr std::size_t fixed = 3 * sizeof(int) + (has_epilogue ? 0 : sizeof(state));
        return static_cast<short>((bytes - fixed) / each);
    }
    static constexpr short few = products_in(4096), some = products_in(12288), many = products_in(32764);

    // A product that shares. Products of one kind have the same layout of operands and the same kind of epilogue.
    struct member {
        int kind;
        int order; // kind by kind, and the longest first, so that short ones fill the gaps at the end
        index_t place, tiles;
    };
    std::vector<member> members_of() const {
        constexpr int lengths = 64;
        std::vector<member> drawn;
        drawn.reserve(sides_.size());
        std::vector<std::string> texts;
        for (std::size_t i = 0; i < sides_.size(); ++i) {
            cuda_sides const& s = sides_[i];
            if (sharing_.alone[i] || s.m == 0 || s.n == 0 || s.count == 0) continue;
            auto const place = static_cast<index_t>(i);
            member next{kinds_[i], 0, place, tiles_of(sharing_.tile, s) * s.count};
            if constexpr (has_epilogue) {
                auto const found = std::find(texts.begin(), texts.end(), epilogue_of(place).text());
                next.kind |= static_cast<int>(found - texts.begin()) << 2;
                if (found == texts.end()) texts.push_back(epilogue_of(place).text());
            }
            index_t const length = s.k / 8;
            next.order = next.kind * lengths + static_cast<int>(length < lengths ? lengths - 1 - length : 0);
            drawn.push_back(next);
        }
        // The order is found by counting: there are few orders.
        std::vector<std::size_t> at((texts.size() + 1) * 4 * lengths + 1);
        for (member const& x : drawn) ++at[static_cast<std::size_t>(x.order) + 1];
        for (std::size_t i = 1; i < at.size(); ++i) at[i] += at[i - 1];
        std::vector<member> all(drawn.size());
        for (member const& x : drawn) all[at[static_cast<std::size_t>(x.order)]++] = x;
        return all;
    }

    cuda_epilogue<Scalar> const& epilogue_of(index_t i) const {
        return epilogues_[has_epilogue ? static_cast<std::size_t>(i) : 0];
    }

    cuda_chooser by_;
    group<Problem> all_;
    std::vector<cuda_epilogue<Scalar>> epilogues_;
    std::vector<cuda_sides> sides_; // as kernels see them
    std::vector<char> kinds_;       // how operands lie
    std::vector<char> turned_;      // whether the transpose is multiplied
    cuda_sharing sharing_;
    std::vector<cuda_prepared<Problem>> alone_;
};

STRATAGEMM_END
