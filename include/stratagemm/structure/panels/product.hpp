// Products of panels over the devices of an out_of_core policy.
//
// Of C = A B each device has its rows of A and C. B is brought in pieces of columns with all of k, so that no sum is cut;
// a piece is put together from the rows of all devices, each beginning with its own ones, in one of two pieces of memory,
// while the products of the piece before run. Rows are multiplied in blocks, whose height the panels say; the width of
// pieces follows from the shape, the budget and the base. Neither depends on the number of devices.
//
// Where C lies in panels of columns, C^T = B^T A^T is done so, and the base gets each block of it turned back.
#pragma once

#include "operand.hpp"

STRATAGEMM_BEGIN

namespace panel_parts {

using out_of_core_parts::smaller;

// What is divided among the devices of a shape, `rows` and their blocks, and what is brought to them in pieces, as if C
// were in panels of rows.
template <class S>
struct sides_of {
    static constexpr bool is_turned = S::c_form::is_turned;
    using streamed_type = std::conditional_t<is_turned, typename S::a_type, typename S::b_type>;
    index_t rows, cols, height; // of the panels; 0: the usual one

    explicit sides_of(S const& s)
        : rows(is_turned ? s.n : s.m), cols(is_turned ? s.m : s.n), height(height_in(s)) {}

private:
    static index_t height_in(S const& s) {
        if constexpr (is_turned)
            return s.b_facts.height;
        else
            return s.a_facts.height;
    }
};

// How B is cut.
struct cut {
    index_t height = 0, width = 0; // of a block of C; the width is that of a piece of B, too
    int slots = 0;                 // for pieces of B
    footprint need{};
    bool exists() const { return width > 0; }
};

// What is known of products before they run.
template <class P>
class division {
    using base_type = std::remove_cvref_t<decltype(std::declval<P const&>().device(0))>;
    using space = typename base_type::space;
    using queue = device_queue<leaf_of<base_type>>;

public:
    explicit division(P const& policy) : policy_(policy) {}

    template <class S>
    index_t height(S const& s) const {
        sides_of const x(s);
        return smaller(x.height > 0 ? x.height : height_of_blocks(x.rows, policy_.devices()),
                       x.rows > 0 ? x.rows : 1);
    }
    // f(shape) for the products of the base.
    template <class S, class F>
    void each_block(cut const& c, S const& s, F&& f) const {
        sides_of const x(s);
        for (index_t const m : {c.height, x.rows % c.height})
            for (index_t const n : {c.width, x.cols % c.width})
                if (m > 0 && n > 0) f(block(s, m, n));
    }
    // The finest cut that takes as long as the best one: it begins soonest, and needs the least memory. Times within 1% of
    // each other are the same here, since estimates do not tell them apart (./dev bench estimate).
    template <class S>
    cut cut_of(S const& s) const {
        cut best;
        double least = 0;
        std::size_t const room = budget(s);
        index_t const cols = sides_of(s).cols, n = cols > 0 ? cols : 1;
        for (index_t pieces = 1; pieces < 2 * n && (pieces <= 16 || !best.exists());
             pieces += (pieces + 1) / 2) {
            cut c{height(s), width_of(n, smaller(pieces, n))};
            c.slots = course::parts(n, c.width) > 1 ? 2 : 1;
            c.need = need(c, s);
            if (footprint f = c.need; space::share(f) > room) continue;
            double const time = seconds_of_rows(c, s);
            if (best.exists() && time > 1.01 * least) continue;
            if (!best.exists() || time < least) least = time;
            best = c;
        }
        return best;
    }
    // What a budget has to have.
    template <class S>
    std::size_t least_budget(S const& s) const {
        footprint f = need({height(s), 1, sides_of(s).cols > 1 ? 2 : 1}, s);
        return space::share(f);
    }
    // All products of a block of rows.
    template <class S>
    double seconds_of_rows(cut const& c, S const& s) const {
        auto const one = [&](index_t n) {
            return n > 0 ? policy_.device(0).estimate(block(s, c.height, n)) : 0;
        };
        index_t const cols = sides_of(s).cols;
        return static_cast<double>(cols / c.width) * one(c.width) + one(cols % c.width);
    }
    template <class S>
    double seconds(cut const& c, S const& s) const {
        index_t const devices = policy_.devices();
        sides_of const x(s);
        rows_of_device const own(x.rows, c.height, 0, devices);
        double const blocks = static_cast<double>(course::parts(own.count(), c.height)),
                     pieces = static_cast<double>(course::parts(x.cols, c.width)),
                     bytes = static_cast<double>(s.k) * static_cast<double>(c.width) *
                             sizeof(typename sides_of<S>::streamed_type);
        double const piece = bytes / link(), products = blocks * seconds_of_rows(c, s);
        double const copies = pieces * piece;
        return piece + (products > copies ? products : copies) + 20e-6;
    }
    // Bytes a second of pieces, of which a device has a part itself.
    double link() const {
        double const devices = policy_.devices(), own = link_between<space>(queue_of(0), queue_of(0));
        return 1 / (1 / devices / own + (devices - 1) / devices / slowest_link());
    }
    double slowest_link() const {
        double least = 0;
        each_pair([&](queue const& from, queue const& to) {
            double const x = link_between<space>(from, to);
            if (least == 0 || x < least) least = x;
        });
        return least > 0 ? least : link_between<space>(queue_of(0), queue_of(0));
    }
    bool is_direct_everywhere() const {
        bool direct = true;
        each_pair([&](queue const& from, queue const& to) { direct &= is_direct<space>(from, to); });
        return direct;
    }
    // A product of the base: of so many rows of a panel of C.
    template <class S>
    static auto block(S const& s, index_t rows, index_t cols) {
        constexpr bool is_turned = sides_of<S>::is_turned;
        return shape<typename S::a_type, typename S::b_type, typename S::c_type>{
            .m = is_turned ? cols : rows, .n = is_turned ? rows : cols, .k = s.k, .adds = s.adds};
    }
    // Of each device, beside the panels.
    template <class S>
    std::size_t budget(S const& s) const {
        constexpr bool on_host = std::is_same_v<space, host_memory>;
        index_t const asked = on_host ? policy_.options().host_bytes : policy_.options().device_bytes;
        if (asked != out_of_core_options::automatic) return static_cast<std::size_t>(asked);
        if constexpr (on_host) {
            return PTRDIFF_MAX;
        } else {
            std::size_t const most = queue_of(0).limits().memory_bytes / 4 * 3;
            auto const each = [&](index_t rows, index_t cols, std::size_t element) {
                return static_cast<std::size_t>(course::parts(rows, policy_.devices()) * cols) * element;
            };
            std::size_t const panels = each(s.m, s.k, sizeof(typename S::a_type)) +
                                       each(s.k, s.n, sizeof(typename S::b_type)) +
                                       each(s.m, s.n, sizeof(typename S::c_type));
            return most > panels ? most - panels : 0;
        }
    }

private:
    queue queue_of(int device) const { return queue(policy_.device(device).leaf()); }
    template <class F>
    void each_pair(F&& f) const {
        for (int i = 0; i < policy_.devices(); ++i)
            for (int j = 0; j < policy_.devices(); ++j)
                if (i != j) f(queue_of(i), queue_of(j));
    }
    static index_t width_of(index_t n, index_t pieces) {
        return smaller(in_whole_tiles(course::parts(n, pieces)), n);
    }
    template <class S>
    footprint need(cut const& c, S const& s) const {
        footprint all;
        each_block(c, s, [&](auto const& b) { all = larger(all, policy_.device(0).workspace(b)); });
        space::share(all) += static_cast<std::size_t>(c.slots) *
                             base_type::arena::rounded(static_cast<std::size_t>(s.k * c.width) *
                                                       sizeof(typename sides_of<S>::streamed_type));
        return all;
    }

    P const& policy_;
};

// What one device does: a thread loads pieces of B, and another one queues products. P has C in panels of rows; the base
// gets its blocks turned if the caller's C is not.
template <policy Base, class P, bool Turned>
class worker {
    using space = typename Base::space;
    using queue = device_queue<leaf_of<Base>>;
    using event = typename queue::event;
    using B = typename P::b_type;

    struct slot {
        typename space::template handle<B> data{};
        event loaded{}, used{};
    };

public:
    worker(Base const& base, int device, P const& p, cut const& c, out_of_core_parts::signals& all,
           typename Base::arena& memory)
        : base_(base), device_(device), p_(p), cut_(c), signals_(all), memory_(memory), main_(base.leaf()),
          pieces_(course::parts(p.c.cols, c.width)) {}

    // Returns when all that was queued is done. Errors go to the signals.
    void run() {
        if (p_.c.panels[device_].data.rows == 0) return;
        typename Base::arena::scope const all(memory_);
        if (!succeeds([this] { return prepare(); })) return;
        {
            out_of_core_parts::workers loader;
            bool const loads =
                succeeds([&] { return loader.start([this] { succeeds([this] { return load(); }); }); });
            if (loads) succeeds([this] { return multiply(); });
        }
        // Also after an error: what was queued before it may use the panels.
        for (queue const* const q : {&up_, &main_}) succeeds([&] { return q->synchronize(); });
    }

private:
    template <class F>
    bool succeeds(F const& f) {
        status s = or_no_memory(f);
        bool const good = static_cast<bool>(s);
        if (!good) signals_.fail(out_of_core_parts::of_device(std::move(s), device_, p_.c.count));
        return good;
    }
    status prepare() {
        auto up = main_.fork();
        if (!up) return up.take_status();
        up_ = std::move(*up);
        for (int i = 0; i < cut_.slots; ++i)
            slots_[i].data = memory_.template take<B>(p_.b.rows * cut_.width);
        // A copy by way of the host is not to wait for products of the other device.
        for (int i = 0; i < p_.b.count; ++i) {
            auto other = p_.b.panels[i].queue.fork();
            if (!other) return other.take_status();
            others_.push_back(std::move(*other));
        }
        return {};
    }

    status load() {
        for (index_t j = 0; j < pieces_; ++j) {
            if (!signals_.wait_until([&] { return j - queued_ < cut_.slots; })) return {};
            slot& to = slots_[j % cut_.slots];
            if (status s = up_.wait(to.used); !s) return s;
            auto const room = room_of(j);
            for (int i = 0; i < p_.b.count; ++i) {
                int const from = (device_ + i) % p_.b.count; // so that not all read one device at a time
                auto const own = p_.b.within(from, 0, j * cut_.width, room.rows, room.cols);
                if (own.data.rows == 0 || own.data.cols == 0) continue;
                status s = copy_between_devices(others_[static_cast<std::size_t>(from)], own.data, up_,
                                                room.part(own.row, own.col, own.data.rows, own.data.cols));
                if (!s) return from == device_ ? std::move(s) : copied_from(from, s.error());
            }
            auto loaded = up_.record();
            if (!loaded) return loaded.take_status();
            to.loaded = std::move(*loaded);
            signals_.change([&] { ++loaded_; });
        }
        return {};
    }

    // Either device may be what fails.
    static status copied_from(int device, error const& e) {
        return error(e.code(), "a copy from device " + std::to_string(device), e.what(), e.native_code());
    }

    status multiply() {
        for (index_t j = 0; j < pieces_; ++j) {
            if (!signals_.wait_until([&] { return loaded_ > j; })) return {};
            slot& from = slots_[j % cut_.slots];
            if (status s = main_.wait(from.loaded); !s) return s;
            auto const& own = p_.c.panels[device_];
            for (index_t i = 0; i < own.data.rows; i += cut_.height)
                if (status s = multiply(i, j); !s) return s;
            auto used = main_.record();
            if (!used) return used.take_status();
            from.used = std::move(*used);
            signals_.change([&] { ++queued_; });
        }
        return {};
    }
    // The block of C that begins in row i of the panel.
    status multiply(index_t i, index_t j) {
        dense_problem<typename P::a_type, B, typename P::c_type, space,
                      epilogue_on_device<typename P::epilogue_type>>
            q;
        auto const& c = p_.c.panels[device_];
        view<B const, space> const b = room_of(j);
        index_t const rows = smaller(cut_.height, c.data.rows - i), row = c.first_row + i,
                      col = j * cut_.width;
        q.a = p_.a.panels[device_].data.part(i, 0, rows, p_.a.cols);
        q.b = b;
        q.c = c.data.part(i, col, rows, b.cols);
        q.e = q.c;
        q.alpha = p_.alpha, q.beta = p_.beta, q.epilogue = on_device{device_}(p_.epilogue);
        q.row0 = p_.row0 + (Turned ? col : row), q.col0 = p_.col0 + (Turned ? row : col);
        if constexpr (Turned)
            return base_(q.transposed(), memory_);
        else
            return base_(q, memory_);
    }
    // Piece j of B in its slot, in the order in which the panels of B lie.
    view<B, space> room_of(index_t j) const {
        bool const by_rows = !rows_are_closer(p_.b.panels[0].data) != P::b_operand::is_turned;
        return without_gaps<B, space>(slots_[j % cut_.slots].data, p_.b.rows,
                                      smaller(cut_.width, p_.b.cols - j * cut_.width), by_rows);
    }

    Base const& base_;
    int device_;
    P const& p_;
    cut const& cut_;
    out_of_core_parts::signals& signals_; // of all devices
    typename Base::arena& memory_;
    queue main_, up_{};
    std::vector<queue> others_;
    slot slots_[2];
    index_t pieces_, loaded_ = 0, queued_ = 0;
};

template <class M>
inline constexpr bool are_panels = false;
template <class T, class Space, class Queue, bool Turned>
inline constexpr bool are_panels<panels_view<T, Space, Queue, Turned>> = true;

} // namespace panel_parts

// P: out_of_core over the devices of the panels.
template <class P>
class panel_product {
    using base_type = std::remove_cvref_t<decltype(std::declval<P const&>().device(0))>;

public:
    using space = typename base_type::space;
    using arena = typename P::arena;

    panel_product(P policy) : policy_(std::move(policy)) {}

    template <class Q>
    static constexpr verdict accepts = verdict::structure;
    // All three lie in panels, and A in those of rows if C does, B in those of columns if C does. Vectors of an epilogue
    // that lie on one device are not read by others.
    template <class Q>
    static constexpr verdict accepts_operands = [] {
        if constexpr (!panel_parts::are_panels<typename Q::a_operand> ||
                      !panel_parts::are_panels<typename Q::b_operand> ||
                      !panel_parts::are_panels<typename Q::c_operand>)
            return verdict::structure;
        else if constexpr (Q::c_operand::is_turned ? !Q::b_operand::is_turned : Q::a_operand::is_turned)
            return verdict::structure;
        else if constexpr (!panel_leaf<leaf_of<base_type>, space>)
            return verdict::leaf;
        else
            return answer<base_type,
                          dense_problem<typename Q::a_type, typename Q::b_type, typename Q::c_type, space,
                                        panel_parts::epilogue_on_device<typename Q::epilogue_type>>>() &
                   epilogue_if(std::is_same_v<space, host_memory> ||
                               !panel_parts::has_vectors<typename Q::epilogue_type>);
    }();

    auto leaf() const { return policy_.device(0).leaf(); }
    result<arena> reserve(footprint f) const { return policy_.reserve(f); }
    // Of each device.
    template <class S>
    footprint workspace(S const& s) const {
        return divide().cut_of(s).need;
    }
    template <class S>
    bound error_bound(S const& s) const {
        bound all;
        auto const c = divide().cut_of(s);
        if (!c.exists()) return all;
        divide().each_block(c, s, [&](auto const& b) {
            bound const one = policy_.device(0).error_bound(b);
            all = larger(all, one);
        });
        panel_parts::sides_of const x(s);
        all.confidence = all_hold(all.confidence, static_cast<double>(course::parts(x.rows, c.height) *
                                                                      course::parts(x.cols, c.width)));
        return all;
    }
    template <class S>
    double estimate(S const& s) const {
        auto const c = divide().cut_of(s);
        return c.exists() ? divide().seconds(c, s) : __builtin_inf();
    }
    template <class S>
    std::string describe(S const& s) const {
        auto const c = divide().cut_of(s);
        if (!c.exists()) return "panels: the budget is too small";
        auto const number = [](index_t x) { return std::to_string(x); };
        int const devices = policy_.devices();
        panel_parts::sides_of const x(s);
        std::string text = "panels on " + number(devices) + (devices > 1 ? " devices: " : " device: ") +
                           number(rows_of_device(x.rows, c.height, 0, devices).count()) +
                           (x.is_turned ? " columns" : " rows") + " of C on each in blocks of " +
                           number(c.height) + (x.is_turned ? ", A" : ", B") + " in pieces of " +
                           number(c.width) + (x.is_turned ? " rows" : " columns");
        if (devices > 1)
            text += std::string(divide().is_direct_everywhere() ? ", copied directly at "
                                                                : ", copied by way of the host at ") +
                    number(static_cast<index_t>(divide().slowest_link() / 1e9)) + " GB/s";
        footprint f = c.need;
        text += ", " + number(static_cast<index_t>((space::share(f) + 0xfffff) >> 20)) + " MiB on each; ";
        return text + policy_.device(0).describe(divide().block(s, c.height, c.width));
    }
    template <class S>
    status check(S const& s) const {
        panel_parts::sides_of const x(s);
        return policy_.check(divide().block(s, x.rows, x.cols));
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        auto const s = p.shape();
        if (status x = check(s); !x) return x;
        auto const c = divide().cut_of(s);
        if (!c.exists()) return small_budget(s);
        constexpr bool is_turned = Q::c_operand::is_turned;
        if constexpr (is_turned)
            return multiply<is_turned>(p.transposed(), c, memory);
        else
            return multiply<is_turned>(p, c, memory);
    }

private:
    auto divide() const { return panel_parts::division<P>(policy_); }
    template <class Q, class F>
    static void each_operand(Q const& p, F&& f) {
        f(p.a), f(p.b), f(p.c), panel_parts::each_values(p.epilogue, f);
    }

    template <class S>
    status small_budget(S const& s) const {
        char text[200];
        __builtin_snprintf(text, sizeof(text),
                           "%s is %zu, which is too little for one %s; the least for this product is %zu",
                           std::is_same_v<space, host_memory> ? "host_bytes" : "device_bytes",
                           divide().budget(s), S::c_form::is_turned ? "row of A" : "column of B",
                           divide().least_budget(s));
        return failure(errc::memory, "out_of_core", text);
    }

    // Whether all is on the devices of the policy, in their order.
    template <class Q>
    bool is_in_place(Q const& p) const {
        bool all = p.c.count == policy_.devices();
        if constexpr (peer_leaf<leaf_of<base_type>, space>)
            for (int i = 0; all && i < p.c.count; ++i)
                all = policy_.device(i).leaf().is_beside(p.c.panels[i].queue);
        each_operand(p, [&](auto const& x) {
            all = all && panel_parts::have_same_devices(x.panels, x.count, p.c.panels, p.c.count);
        });
        return all;
    }

    // p has C in panels of rows.
    template <bool Turned, class Q>
    status multiply(Q const& p, panel_parts::cut const& c, arena& memory) const {
        if (!is_in_place(p)) return panel_parts::other_devices();
        if (p.a.height != p.c.height)
            return failure(errc::shape, Turned ? "panels: B and C must have the same height of blocks"
                                               : "panels: A and C must have the same height of blocks");
        // What was queued before on any device may write what another one reads.
        for (int i = 0; i < policy_.devices(); ++i) {
            status x = policy_.device(i).leaf().synchronize();
            each_operand(p, [&](auto const& operand) {
                if (x) x = operand.panels[i].queue.synchronize();
            });
            if (!x) return out_of_core_parts::of_device(std::move(x), i, policy_.devices());
        }
        out_of_core_parts::signals all;
        auto const work = [&](int i) {
            panel_parts::worker<base_type, Q, Turned>(policy_.device(i), i, p, c, all, memory[i]).run();
        };
        {
            out_of_core_parts::workers others;
            for (int i = 1; i < policy_.devices(); ++i)
                if (status s = others.start([&work, i] { work(i); }); !s) {
                    all.fail(std::move(s));
                    break;
                }
            work(0);
        }
        return all.take_failure();
    }

    P policy_;
};

STRATAGEMM_END
