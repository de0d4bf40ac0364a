// Products that are checked: wrong elements of C are found and repaired, or the call fails.
//
//   sg::verified_report report;
//   sg::gemm(sg::verified{policy, {.report = &report}}, a, b, c);   over any policy, on the host or on a device
//
// After the base has computed C = alpha A B + beta E, row and column checksums compare it with its operands:
// C x with alpha A (B x) + beta E x, and y^T C with alpha (y^T A) B + beta y^T E, for vectors x and y of
// random signs. This takes four passes over the operands, and no product. The rows and the columns that are
// off by most, relative to |A||B|, cross in the elements that may be wrong. These are computed again in wider
// arithmetic and compared with the base's own worst error bound. An element is wrong only if it is beyond
// the bound, so no correct product is refused, whatever the data. An element that is wrong is replaced by what
// was computed again. If more than 8 are wrong, the whole product is done once more; if it is wrong then,
// too, the call fails with errc::verification, and C is not to be used.
//
// What is found: an error beyond the bound of its element that stands out among the rounding errors of its row and
// of its column, which add up in a checksum. `limit` of the report says how large that is, as a multiple of the
// bound of an average element of the row and of one of the column. It takes it that no line has larger rounding
// errors, relative to |A||B|, than the line that is off by most. Bounds are the base's, with a rounding to C and
// what underflow in k terms may come to. Up to eight rows or columns hide nothing; of both, each element is computed
// again. Where subnormal floats may count as zero, as on devices, an error that this explains is let pass, and
// `limit` is at least that error. Products of up to 2^24 multiply-adds are checked with several pairs of vectors.
//
// Sums of int8 products are exact modulo 2^32, and so are their checksums (Freivalds): a row or column with
// one wrong element is always found. Any other wrong C is missed with a probability of at most 4^(1 -
// rounds). This probability is reached only where all differences are multiples of 2^31; where one is odd,
// it is less than 2^-62.
//
// Rows of A, columns of B and rows of E with Inf or NaN, and rows of C with elements that overflow, are not checked;
// the report counts these rows and columns. If an element is off and near overflow, its error is not known, and `limit`
// is Inf. The epilogue is applied after the check. The same call has the same random vectors. A second try needs a
// copy of E, which is made only where C replaces E.
//
// On a device kernels do all this, in double, or in float where the device lacks double; `limit` is larger then. The
// host waits for their verdict. Only if they find an element that is not right beyond doubt, the sums and the lines
// that cross in suspects come to the host, which decides as it does for its own memory. Complex products are checked
// on the host only.
//
// A product with a transform (structure/dft.hpp), on the host: verified/probe.hpp says how it is checked. `limit` is a
// multiple of the bound of an element there, too. C cannot be the operand that is transformed, which the check reads.
//
// Freivalds: Probabilistic machines can use less running time, 1977. Huang, Abraham: Algorithm-based fault
// tolerance for matrix operations, 1984.
#pragma once

#include "verified/device.hpp"
#include "verified/host.hpp"
#include "verified/probe.hpp"

STRATAGEMM_BEGIN

template <policy Base>
class verified : public layer_over<Base> {
    using layer = layer_over<Base>;
    using layer::base_;
    static constexpr bool in_host_memory = std::is_same_v<typename Base::space, host_memory>;
    static constexpr bool on_host = in_host_memory && host_leaf<leaf_of<Base>>,
                          on_device = !in_host_memory && device_leaf<leaf_of<Base>, typename Base::space>;

    // What does the products of a shape: the base, or what its operand names.
    template <class S>
    using base_for = multiplier<Base, S>;

public:
    using layer::leaf;
    using typename layer::arena, typename layer::space;

    // The base does the product without the epilogue. Checksums of complex numbers are not computed on a device, nor
    // those of two element types, nor, anywhere, those of integers that are rounded to int8.
    template <class P>
    static constexpr verdict accepts = [] {
        using Plain = decltype(std::declval<P const&>().without_epilogue());
        using OnHost = dense_problem<typename P::a_type, typename P::b_type, typename P::c_type>;
        if constexpr (!on_host && !on_device)
            return verdict::leaf;
        else
            return types_if((on_host || (!complex_like<typename P::c_type> && has_one_type<P>)) &&
                            !std::is_same_v<typename P::c_type, std::int8_t>) &
                   answer<Base, Plain>() & answer<reference, OnHost>();
    }();

    // This takes operands other than matrices if they say how they are checked.
    template <class P>
    static constexpr verdict accepts_operands = [] {
        if constexpr (!verified_parts::is_probed<P>) {
            return verdict::structure;
        } else if constexpr (!on_host) {
            return verdict::leaf;
        } else {
            using Plain = decltype(std::declval<P const&>().without_epilogue());
            return answer<base_for<decltype(std::declval<P const&>().shape())>, Plain>();
        }
    }();

    explicit verified(Base base, verified_options options = {}) // option names: see verified_options
        : layer(std::move(base)), options_(options) {}

    template <class S>
    footprint workspace(S s) const {
        s.count = 1; // one after the other
        using namespace verified_parts;
        using C = typename S::c_type;
        footprint check, copy;
        if (s.adds) space::share(copy) = arena::rounded(static_cast<std::size_t>(s.m * s.n) * sizeof(C));
        if constexpr (is_probed_shape<S>) {
            check = room_of_probe(s);
        } else {
            using T = typename S::wide_type;
            using W = number_of<C>;
            if constexpr (on_host)
                space::share(check) = bytes_of<arena, sums_of<T, W>>(s.m, s.n, s.k) +
                                      bytes_of<arena, host_room<T, W>>(s.m, s.n, s.k);
            else
                space::share(check) = device_room<space, T, C, W>::template bytes<arena>(s.m, s.n, s.k);
        }
        return copy + larger(base_of(s).workspace(s), check);
    }
    template <class S>
    bound error_bound(S const& s) const {
        return base_of(s).error_bound(s);
    }
    // Four passes over the operands, which wait for memory; on a device, a dozen launches and a wait, too.
    template <class S>
    double estimate(S s) const {
        auto const count = static_cast<double>(std::exchange(s.count, 1));
        double check = 0;
        if constexpr (verified_parts::is_probed_shape<S>)
            check = estimate_of_probe(s);
        else if constexpr (on_host)
            check = 1.5 * operand_bytes(s) / 8e9 / threads_for(s, leaf());
        else
            check = 1.5 * operand_bytes(s) / leaf().limits().bandwidth + 60e-6;
        return count * (base_of(s).estimate(s) + check);
    }
    template <class S>
    std::string describe(S const& s) const {
        return "verified by checksums: " + base_of(s).describe(s);
    }

    // What is wrong with the options, or with those of the base.
    template <class S>
    status check(S const& s) const {
        if (options_.rounds < 1) return error(errc::argument, "verified: `rounds` must be at least 1");
        return layer::check(s);
    }

    template <class P>
    status operator()(P const& p, arena& memory) const {
        if (status s = check(p.shape()); !s) return s;
        report found;
        found.ran = "checked", found.reason = "checksums compare C with its operands";
        found.seed = options_.seed, found.bound = this->error_bound(p.shape());
        status done;
        for (index_t i = 0; done && i < p.count; ++i) done = multiply(p.at(i), memory, found);
        found.phases = found.repeated > 0 ? 4 : 2;
        if (options_.report) *options_.report = found;
        return done;
    }

private:
    template <class S>
    decltype(auto) base_of(S const&) const {
        if constexpr (std::is_same_v<base_for<S>, Base>)
            return static_cast<Base const&>(base_);
        else
            return base_for<S>(base_);
    }

    template <class P>
    status multiply(P const& p, arena& memory, report& found) const {
        auto const plain = p.without_epilogue();
        if constexpr (is_dense<P> || verified_parts::has_probe<typename P::a_operand>) {
            if (status s = multiply_plain(plain, memory, found); !s) return s;
        } else { // C^T = B^T A^T
            if (status s = multiply_plain(plain.transposed(), memory, found); !s) return s;
        }
        if constexpr (!std::is_same_v<typename P::epilogue_type, identity>)
            return leaf().apply(p.epilogue, p.c, p.row0, p.col0);
        return {};
    }
    template <class P>
    status multiply_plain(P const& p, arena& memory, report& found) const {
        if constexpr (!is_dense<P>)
            if (space::address(p.b.data) == space::address(p.c.data))
                return failure(errc::alias,
                               "verified: C cannot be the operand that is transformed, which the check "
                               "reads afterwards");
        using C = typename P::c_type;
        typename arena::scope const until_return(memory);
        auto again = p; // with an E that stays
        bool const in_place = space::buffer(p.e.data) == space::buffer(p.c.data) &&
                              space::address(p.e.data) == space::address(p.c.data);
        if (p.beta != typename P::scalar(0) && in_place) {
            bool const by_rows = !rows_are_closer(p.c);
            index_t const m = p.c.rows, n = p.c.cols;
            view<C, space> const copy{memory.template take<C>(m * n), m, n, by_rows ? n : 1, by_rows ? 1 : m};
            again.e.conjugate = false;
            if (status s = leaf().copy(again.e, copy); !s) return s;
            again.e = copy;
            again.e.conjugate = p.e.conjugate;
        }
        auto const& base = base_of(p.shape());
        bound const allowed = base.error_bound(p.shape());
        for (bool first = true;; first = false) {
            if (status s = base(first ? p : again, memory); !s) return s;
            status refused;
            if constexpr (is_dense<P>) {
                if (status s = check(again, allowed, memory, found, refused); !s) return s;
            } else {
                if (status s = check_by_probe(base, again, allowed, memory, found, refused); !s) return s;
            }
            if (refused) return {};
            if (!first) return refused;
            ++found.repeated;
        }
    }

    // ---- products with an operand that lies in no memory --------------------------------------------------

    // f(facts of the operand, m, n, k) of a product of a shape that has it on the left, or of the transposed one.
    template <class S, class F>
    static auto on_left(S const& s, F const& f) {
        if constexpr (verified_parts::form_with_probe<typename S::a_form>)
            return f(s.a_facts, s.m, s.n, s.k);
        else
            return f(s.b_facts, s.n, s.m, s.k);
    }
    template <class S>
    footprint room_of_probe(S const& s) const {
        using C = typename S::c_type;
        return on_left(s, [&](auto const& facts, index_t m, index_t n, index_t k) {
            int const rounds = verified_parts::rounds_of<C>(m, n, k, options_);
            auto const probe = facts.shape_of_probe(m, k, rounds);
            using room = verified_parts::probe_room<C, typename decltype(probe)::c_type>;
            footprint own, inner = larger(base_of(probe).workspace(probe), base_of(s).workspace(s));
            space::share(own) = room::template bytes<arena>(m, n, k, rounds);
            return own + inner;
        });
    }
    // The time of one pass over X and C, and of one transform for each pair of vectors.
    template <class S>
    double estimate_of_probe(S const& s) const {
        return on_left(s, [&](auto const& facts, index_t m, index_t n, index_t k) {
            int const rounds = verified_parts::rounds_of<typename S::c_type>(m, n, k, options_);
            auto probe = facts.shape_of_probe(m, k, rounds);
            probe.alone = s.alone;
            double const elements = static_cast<double>(m + k) * static_cast<double>(n);
            return base_of(probe).estimate(probe) + rounds * elements * 2e-9 / threads_for(s, leaf());
        });
    }
    // As check() does.
    template <class On, class P>
    status check_by_probe(On const& base, P const& p, bound const& allowed, arena& memory, report& found,
                          status& refused) const {
        typename arena::scope const until_checked(memory);
        verified_parts::probe_check<leaf_of<Base>, On, P> check(leaf(), base, p, allowed, options_, memory);
        status failed;
        auto const multiply_probe = [&](auto const& q, arena& room) { return base_of(q.shape())(q, room); };
        bool const right = check.run(multiply_probe, memory, failed);
        if (!failed) return failed;
        if (right)
            check.tell(found);
        else
            refused = refusal(-1, -1, 0);
        return {};
    }

    // ---- products of matrices ------------------------------------------------------------------------------

    // Checks C, and repairs it; `refused` says what is wrong with it then, if anything is.
    template <class P>
    status check(P const& p, bound const& allowed, arena& memory, report& found, status& refused) const {
        using namespace verified_parts;
        typename arena::scope const until_checked(memory);
        auto const with = [&](auto& place, auto& host) {
            verified_parts::check check(place, p, allowed, options_, host);
            bool const right = check.run();
            if (!place.ok()) return;
            check.tell(found, right);
            if (!right) refused = refusal(check.row(), check.col(), check.off_by());
        };
        if constexpr (on_host) {
            verified_parts::on_host<leaf_of<Base>, P> place(leaf(), p, memory);
            with(place, memory);
            return {};
        } else {
            using W = number_of<typename P::c_type>;
            footprint own;
            own.host = bytes_of<host_arena, sums_of<typename P::wide_type, W>>(p.c.rows, p.c.cols, p.a.cols);
            auto host = reserve_host(own, "verified");
            if (!host) return host.take_status();
            auto const on = [&]<class N>(N) {
                verified_parts::on_device<leaf_of<Base>, P, N> place(leaf(), p, memory);
                if (place.ok() && !place.is_right(allowed, options_, found) && place.ok()) with(place, *host);
                return place.take_state();
            };
            if constexpr (std::is_same_v<W, double>)
                return leaf().limits().has_double ? on(double{}) : on(float{});
            else
                return on(W{});
        }
    }

    [[gnu::cold, gnu::noinline]] static status refusal(index_t row, index_t col, double by) {
        char text[200];
        if (row < 0)
            __builtin_snprintf(
                text, sizeof(text),
                "C is wrong, and was wrong when it was computed once more: its checksums differ; do not "
                "use C, and test the machine");
        else
            __builtin_snprintf(
                text, sizeof(text),
                "C(%td, %td) is wrong (by %.1e times the error bound), as elements were when C was first "
                "computed; do not use C, and test the machine",
                row, col, by);
        return failure(errc::verification, "verified", text);
    }

    verified_options options_;
};

// A check of a checked product is two of them, and not a copy of one.
template <policy Base>
verified(verified<Base>) -> verified<verified<Base>>;

STRATAGEMM_END
