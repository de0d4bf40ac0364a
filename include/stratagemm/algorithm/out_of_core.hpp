// Operands in one memory, products in another: blocks of A, B and E are brought into the memory of the
// base, blocks of C are brought back, and products larger than the memory of the base are done in parts.
//
//   sg::gemm(sg::out_of_core{gpu, {.device_bytes = 4_GiB}}, a, b, c);  at most 4 GiB of the device
//   sg::gemm(sg::out_of_core{sg::strassen{gpu}}, a, b, c);             as much as the device has
//   sg::gemm(sg::out_of_core{{gpu0, gpu1}}, a, b, c);                  whichever is free takes the next part
//   sg::gemm(sg::staged{gpu}, a, b, c);                                the same as out_of_core{gpu}
//
//   sg::gemm(sg::out_of_core{sg::host{}, {.host_bytes = 1_GiB}}, a, b, c);  files: out_of_core/files.hpp
//
// The call returns when C is there. A product that fits into the budget and is small is one part: in,
// product, out, on the queue of the base. Any other is cut into blocks. Either blocks of B with all of k
// stay in the memory of the base while blocks of A stream by (or the other way round), or, if k is too long
// for that, a block of C stays while pieces of k stream by: whichever is estimated to take less time.
// Uploads, products and downloads run at once, each on a queue of its own, fed by a thread of its own.
// Blocks go across as they lie, gaps and all; what is not pinned, or has no lines that a copy engine takes,
// is packed on the way, by a few threads. No block is padded.
//
// The result does not depend on the number of devices, if they are alike, nor on which of them took which
// part. An epilogue that the base cannot run is run on the host, on each finished block of C.
#pragma once

#include "out_of_core/pipeline.hpp"

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

STRATAGEMM_BEGIN

template <policy Base>
class out_of_core {
public:
    using there = typename Base::space;
    // Over the host without files.hpp there is no such memory, and no product is taken.
    static constexpr bool has_beyond = requires { sizeof(memory_beyond<there>); };
    using beyond = memory_beyond<std::conditional_t<has_beyond, there, void>>;
    using space = typename beyond::space;
    using arena = arenas<typename Base::arena>;
    static constexpr bool from_files = out_of_core_parts::from_files<Base>;

    explicit out_of_core(Base base, out_of_core_options options = {}) // option names: see out_of_core_options
        : first_(std::move(base)), options_(std::move(options)) {}
    // Several devices, which should be alike.
    explicit out_of_core(std::initializer_list<Base> bases, out_of_core_options options = {})
        : out_of_core(std::vector<Base>(bases), std::move(options)) {}
    explicit out_of_core(std::vector<Base> const& bases, out_of_core_options options = {})
        : out_of_core(first_of(bases), std::move(options)) {
        if (bases.size() > 1)
            others_ = std::make_shared<std::vector<Base> const>(bases.begin() + 1, bases.end());
    }
    int devices() const { return others_ ? 1 + static_cast<int>(others_->size()) : 1; }
    Base const& device(int i) const { return i == 0 ? first_ : (*others_)[static_cast<std::size_t>(i - 1)]; }
    out_of_core_options const& options() const { return options_; }

    template <class P>
    static constexpr verdict accepts =
        !has_beyond ? verdict::space
        : !from_files && !queued_leaf<leaf_of<Base>, there>
            ? verdict::leaf
            : answer<Base, out_of_core_parts::counterpart<Base, P, identity>>();

    auto leaf() const { return typename beyond::leaf{}; }

    result<arena> reserve(footprint f) const {
        int const count = devices();
        std::unique_ptr<typename Base::arena[]> memory(
            new (std::nothrow) typename Base::arena[static_cast<std::size_t>(count)]);
        if (!memory) return failure(errc::memory, "out_of_core: no host memory is left");
        for (int i = 0; i < count; ++i) {
            auto one = device(i).reserve(f);
            if (!one) return out_of_core_parts::of_device(one.take_status(), i, count);
            memory[static_cast<std::size_t>(i)] = std::move(*one);
        }
        footprint own;
        own.host = from_files ? 0 : f.host; // else it is the base's
        auto host = reserve_host(own, "out_of_core");
        if (!host) return host.take_status();
        return arena(std::move(*host), std::move(memory), count);
    }

    // What each device has to hold.
    template <class S>
    footprint workspace(S const& s) const {
        using out_of_core_parts::one_of;
        auto const cut = divide();
        if (index_t const count = cut.together(s)) return cut.whole(out_of_core_parts::with_count(s, count));
        tiling const c = cut.tiling_of(one_of(s));
        return c.exists() ? cut.need(c, one_of(s)) : footprint{};
    }

    template <class S>
    bound error_bound(S const& s) const {
        return divide().error_bound(s);
    }
    template <class S>
    double estimate(S const& s) const {
        return divide().estimate(s);
    }
    template <class S>
    std::string describe(S const& s) const {
        using out_of_core_parts::one_of;
        auto const cut = divide();
        if (cut.together(s) > 0) return "out_of_core, one part; " + base().describe(s);
        tiling const c = cut.tiling_of(one_of(s));
        if (!c.exists()) return "out_of_core: the budget is too small";
        course const way(c, s);
        auto const times = [](index_t x, index_t y) { return std::to_string(x) + " x " + std::to_string(y); };
        S block = one_of(s);
        block.m = c.m, block.n = c.n, block.k = c.k;
        footprint f = cut.need(c, one_of(s));
        return "out_of_core: " + times(way.rows(), way.cols()) + " blocks of " + times(c.m, c.n) + ", " +
               (way.pieces() > 1 ? std::to_string(way.pieces()) + " pieces of k, C stays"
                                 : std::string(c.a_stays ? "A stays" : "B stays")) +
               ", " + std::to_string((there::share(f) + 0xfffff) >> 20) + " MiB" +
               (devices() > 1 ? " on each of " + std::to_string(devices()) + " devices" : "") + "; " +
               base().describe(block);
    }

    // What is wrong with the options, or with those of the base, for any shape: a block is smaller.
    template <class S>
    status check(S const&) const {
        if (asked() <= 0)
            return failure(errc::argument, from_files ? "out_of_core: host_bytes must be positive"
                                                      : "out_of_core: device_bytes must be positive");
        if constexpr (requires { base().check(S{}); }) return base().check(S{});
        return {};
    }

    template <class P>
    status operator()(P const& p, arena& memory) const {
        if (status s = check(p.shape()); !s) return s;
        if (status s = beyond::journal::check(options_, p); !s) return s;
        index_t const together_at_most = divide().together(p.shape());
        if (together_at_most == 0) return in_parts(p, memory);
        for (index_t i = 0; i < p.count; i += together_at_most) {
            P some = p.at(i);
            some.count = out_of_core_parts::smaller(together_at_most, p.count - i);
            if (status s = out_of_core_parts::run_in_one(base(), some, memory[0]); !s) return s;
        }
        return {};
    }

private:
    static Base const& first_of(std::vector<Base> const& bases) {
        if (bases.empty()) raise(error(errc::argument, "out_of_core: there is no device in the list"));
        return bases.front();
    }
    Base const& base() const { return first_; }
    index_t asked() const { return from_files ? options_.host_bytes : options_.device_bytes; }
    auto divide() const { return out_of_core_parts::division<Base>(base(), asked(), devices()); }

    template <class P>
    status in_parts(P const& p, arena& memory) const {
        auto const s = out_of_core_parts::one_of(p.shape());
        auto const cut = divide();
        tiling const c = cut.tiling_of(s);
        if (!c.exists()) {
            char text[200];
            __builtin_snprintf(
                text, sizeof(text),
                "%s is %zu, which is too little for one block; the least for this product is %zu",
                from_files ? "host_bytes" : "device_bytes", cut.budget(), cut.least_budget(s));
            return failure(errc::memory, "out_of_core", text);
        }
        typename beyond::journal finished;
        if constexpr (from_files)
            if (status x = open(finished, p, c); !x) return x;
        for (index_t i = 0; i < p.count; ++i)
            if (status x = in_parts(p.at(i), c, finished, i, memory); !x) return x;
        return finished.finish();
    }
    // Bits depend on what multiplies a block, on one thread or several.
    template <class P>
    status open(typename beyond::journal& finished, P const& p, tiling const& c) const {
        if (options_.journal.empty()) return {};
        auto block = out_of_core_parts::one_of(p.shape());
        block.m = c.m, block.n = c.n, block.k = c.k;
        return finished.open(options_, p, c, base().describe(to_choose_by(block)));
    }
    template <class P>
    status in_parts(P const& p, tiling const& c, typename beyond::journal& finished, index_t product,
                    arena& memory) const {
        out_of_core_parts::job<there> shared(course(c, p.shape()), finished, product);
        auto const work = [&](int i) {
            out_of_core_parts::pipeline<Base, P> one(device(i), p, c, shared, options_, memory[i]);
            if (status x = one.run(); !x)
                shared.fail(out_of_core_parts::of_device(std::move(x), i, devices()));
        };
        {
            out_of_core_parts::workers others;
            for (int i = 1; i < devices(); ++i)
                if (status x = others.start([&work, i] { work(i); }); !x) {
                    shared.fail(std::move(x));
                    break;
                }
            work(0);
        }
        return std::move(shared.failed);
    }

    Base first_;
    std::shared_ptr<std::vector<Base> const> others_;
    out_of_core_options options_;
};

// out_of_core over out_of_core is two of them, and not a copy of one.
template <policy Base>
out_of_core(out_of_core<Base>) -> out_of_core<out_of_core<Base>>;
template <policy Base>
out_of_core(out_of_core<Base>, out_of_core_options) -> out_of_core<out_of_core<Base>>;

// Operands on the host for a policy on a device.
template <policy Base>
class staged : public out_of_core<Base> {
public:
    explicit staged(Base base) : out_of_core<Base>(std::move(base)) {}
};

// With this header a backend on a device takes operands on the host as they are. A layer is told to: see refuse_space.
template <class P>
requires(P::is_backend&& queued_leaf<leaf_of<P>, typename P::space>) struct way_from<P, host_memory> {
    static auto through(P const& policy) { return staged<P>(policy); }
};

STRATAGEMM_END
