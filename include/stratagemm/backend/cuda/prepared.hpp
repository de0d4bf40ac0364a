// A product between the sizing of its workspace and its launch: as kernels take it, with the choice and the form of its
// operands (product.hpp). The choice is made once, when the product is prepared.
#pragma once

#include "chooser.hpp"
#include "product.hpp"

#include <optional>
#include <variant>

STRATAGEMM_BEGIN

// Of matrices of one type.
template <class Problem>
class cuda_prepared {
    using In = typename Problem::a_type;
    using Fusion = cuda_fusion<In, typename Problem::c_type>;

public:
    cuda_prepared(cuda_chooser const& by, Problem const& p, Fusion const* fusion = nullptr)
        : by_(by), product_(by.session, by.stream, p, by.in_order<In>(), fusion) {
        take(by.choice_for<In>(product_.sides(), product_.layout()));
    }
    // As was chosen for a product whose operands lie alike.
    cuda_prepared(cuda_chooser const& by, Problem const& p, cuda_choice const& choice)
        : by_(by), product_(by.session, by.stream, p, by.in_order<In>()) {
        take(choice);
    }

    cuda_choice const& choice() const { return product_.choice(); }
    footprint workspace() const { return needed_; }
    status run(cuda_arena& memory) {
        if (status s = product_.check(by_.check_pointers); !s) return s;
        // The arena was sized by a plan, for operands that lie otherwise, or before a product was tuned.
        if (!memory.fits(needed_)) take(by_.choice_for<In>(product_.sides(), any_cuda_layout));
        if (!memory.fits(needed_)) take(by_.choice_with<In>(product_.sides(), by_.tile, any_cuda_layout));
        if (!memory.fits(needed_))
            return failure(errc::memory, "cuda: tuning changed the tile: call reserve() again");
        return product_.run(memory);
    }

private:
    void take(cuda_choice const& choice) {
        product_.take(choice);
        needed_.device = product_.workspace();
    }

    cuda_chooser by_;
    cuda_product<Problem> product_;
    footprint needed_;
};

// Of sums, or into several results. It stays where it is made: the product refers to the sums.
template <class Problem>
class cuda_prepared_sums {
public:
    cuda_prepared_sums(cuda_chooser const& by, Problem const& p)
        : by_(by), p_(p), first_(by, cuda_plain(p.at(0), fusion_), &fusion_) {}
    cuda_prepared_sums(cuda_prepared_sums const&) = delete;
    cuda_prepared_sums& operator=(cuda_prepared_sums const&) = delete;

    footprint workspace() const {
        footprint most = first_.workspace();
        for (index_t i = 1; i < p_.count; ++i)
            most = larger(most, cuda_prepared_sums(by_, p_.at(i)).workspace());
        return most;
    }
    status run(cuda_arena& memory) {
        if (status s = first_.run(memory); !s) return s;
        for (index_t i = 1; i < p_.count; ++i)
            if (status s = cuda_prepared_sums(by_, p_.at(i)).run(memory); !s) return s;
        return {};
    }

private:
    using Fusion = cuda_fusion<typename Problem::a_type, typename Problem::c_type>;

    cuda_chooser by_;
    Problem const& p_;
    Fusion fusion_;
    cuda_prepared<decltype(cuda_plain(std::declval<Problem>(), std::declval<Fusion&>()))> first_;
};

// The layout of operands of two types; the second operand comes first if they are `turned`.
template <class S>
cuda_layout stored_layout(cuda_layout layout, bool turned) {
    auto const narrow = []<class T>(T const*) {
        return static_cast<short>(std::is_same_v<T, typename S::wide_type> ? 0 : sizeof(T));
    };
    typename S::a_type const* a = nullptr;
    typename S::b_type const* b = nullptr;
    layout.a_bytes = turned ? narrow(b) : narrow(a), layout.b_bytes = turned ? narrow(a) : narrow(b);
    return layout;
}

// Of operands of two types: they are read as they are stored, or the product of the wider type has copies of the operands
// that are widened.
template <class Problem>
class cuda_prepared_two {
    using W = typename Problem::wide_type;
    using A = typename Problem::a_type;
    using B = typename Problem::b_type;
    using Turned = decltype(std::declval<Problem const&>().transposed());

public:
    cuda_prepared_two(cuda_chooser const& by, Problem const& p) : by_(by), p_(p) {
        bool const turned = p.c.cols != 1 && (p.c.rows == 1 || rows_are_closer(p.c));
        if (read_few_columns(p, false) || read_few_columns(p.transposed(), true) ||
            (turned ? read_as_stored(p.transposed(), true) : read_as_stored(p, false)))
            return;
        // Only where copies will lie is asked for: those of an arena begin at such places.
        cuda_arena outline({reinterpret_cast<std::byte*>(cuda_arena::alignment)}, PTRDIFF_MAX, nullptr);
        widened const x(p, outline);
        cuda_prepared<typename widened::problem> const plain(by, x.product);
        copied_ = plain.choice();
        needed_ = plain.workspace();
        needed_.device += x.bytes;
    }

    footprint workspace() const { return needed_; }
    status run(cuda_arena& memory) {
        if (status s = by_.session.ready(); !s) return s;
        if (by_.check_pointers)
            for (void const* const x :
                 {static_cast<void const*>(p_.a.data.address), static_cast<void const*>(p_.b.data.address)})
                if (status s = by_.session.check_pointer(x); !s) return s;
        if (status s = check_sides(p_, "cuda"); !s) return s;
        if (!copied_ && memory.fits(needed_))
            return std::visit(
                [&]<class Read>(Read& product) -> status {
                    if constexpr (!std::is_same_v<Read, std::monostate>) {
                        if (status s = product.check(by_.check_pointers); !s) return s;
                        return product.run(memory);
                    }
                    return {};
                },
                read_);
        cuda_arena::scope const until_return(memory);
        widened const x(p_, memory);
        if (status s = x.a.run(by_.session, by_.stream); !s) return s;
        if (status s = x.b.run(by_.session, by_.stream); !s) return s;
        using plain = cuda_prepared<typename widened::problem>;
        return copied_ ? plain(by_, x.product, *copied_).run(memory) : plain(by_, x.product).run(memory);
    }

private:
    // The product of the wider type, whose copies are in an arena, and what copies the operands there.
    struct widened {
        using identical = dense_problem<W, W, typename Problem::c_type, cuda_memory>;
        using problem = decltype(identical().with_epilogue(std::declval<Problem>().epilogue));
        problem product;
        cuda_packing<W, A> a;
        cuda_packing<W, B> b;
        std::size_t bytes = 0;

        widened(Problem const& p, cuda_arena& memory) : product(with_results_of(p)) {
            auto const widen = [&]<class T>(cuda_view<T const> const& x, index_t step,
                                            cuda_packing<W, T>& copy, cuda_view<W const>& to,
                                            index_t& to_step) {
                if constexpr (std::is_same_v<T, W>) {
                    to = x, to_step = step;
                } else {
                    cuda_line_view<T> const lines = cuda_line_view_of<T>(x, step, p.count);
                    cuda_lines<W> const l = copy.add(lines, memory);
                    bytes += cuda_lines<W>::bytes(l.lines, l.length, l.step == 0 ? 1 : l.count);
                    to = {{l.data}, l.lines, l.length, l.stride, 1}, to_step = l.step;
                    if (!lines.along_k) to = transposed(to);
                }
            };
            widen(p.a, p.a_step, a, product.a, product.a_step);
            widen(p.b, p.b_step, b, product.b, product.b_step);
        }
        static problem with_results_of(Problem const& p) {
            identical x;
            x.alpha = p.alpha, x.beta = p.beta, x.e = p.e, x.c = p.c;
            x.count = p.count, x.e_step = p.e_step, x.c_step = p.c_step;
            x.row0 = p.row0, x.col0 = p.col0;
            return x.with_epilogue(p.epilogue);
        }
    };

    template <class Q>
    bool read_few_columns([[maybe_unused]] Q const& q, [[maybe_unused]] bool turned) {
        if constexpr (std::is_same_v<typename Q::b_type, W>) {
            cuda_product<Q> product(by_.session, by_.stream, q, turned);
            return read(product,
                        by_.few_columns(product.sides(), product.layout(), sizeof(typename Q::a_type)));
        }
        return false;
    }
    template <class Q>
    bool read_as_stored(Q const& q, bool turned) {
        cuda_product<Q> product(by_.session, by_.stream, q, turned);
        return product.lies_in_lines() &&
               read(product, by_.choice_of_two<W>(product.sides(), product.layout()));
    }
    template <class Q>
    bool read(cuda_product<Q>& product, cuda_choice const& choice) {
        if (!choice.widens) return false;
        product.take(choice);
        needed_.device = product.workspace();
        read_.template emplace<cuda_product<Q>>(std::move(product));
        return true;
    }

    cuda_chooser by_;
    Problem const& p_;
    std::variant<std::monostate, cuda_product<Problem>, cuda_product<Turned>> read_;
    std::optional<cuda_choice> copied_; // nothing: the operands are read as they are stored
    footprint needed_;
};

STRATAGEMM_END
