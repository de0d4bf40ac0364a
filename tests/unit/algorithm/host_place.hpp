// The host as a place of compressed_cases.hpp.
#pragma once

#include "unit/algorithm/compressed_cases.hpp"

// A host whose products of a list and a matrix of many columns are estimated to be slow, so that sketches of small ones pay.
struct slow_lists : stratagemm::host {};
template <class Base>
struct slow_csr : Base {
    using Base::Base;
    template <class S>
    double estimate(S const& s) const {
        return Base::estimate(s) * (s.m > 64 && s.n > 64 ? 20 : 1);
    }
};
template <stratagemm::sparse_form Form>
struct stratagemm::over_form<slow_lists, Form> {
    using type = slow_csr<typename Form::template over<slow_lists>>;
};

struct host_place {
    template <class T>
    using matrix = stratagemm::matrix<T>;

    static stratagemm::host policy() { return stratagemm::host{.threads = 1}; }
    static auto slow(stratagemm::index_t m, stratagemm::index_t n) {
        approximations::slow<stratagemm::host> by(policy(), m, n);
        by.seconds = 1e-5; // form Fourier takes long
        return by;
    }
    static slow_lists of_lists() { return {policy()}; }
    template <class X>
    static X put(X const& x) {
        return x;
    }
    template <class X>
    static X const& here(X const& x) {
        return x;
    }
    template <class R>
    static compressed_cases::elements<R> elements(stratagemm::coo<R> const& list) {
        compressed_cases::elements<R> all;
        for (stratagemm::index_t at = 0; at < list.nonzeros; ++at)
            all[{list.row_numbers[at], list.columns[at]}] = list.values[at];
        CHECK(static_cast<stratagemm::index_t>(all.size()) == list.nonzeros);
        CHECK(list.check_sorted());
        return all;
    }
    template <class R, class A, class B>
    static matrix<R>
    estimates(stratagemm::compressed_parts::sketch_size size, std::uint64_t seed, A const& a, B const& b,
              int threads = 1,
              stratagemm::compressed_form form = stratagemm::compressed_form::walsh_hadamard) {
        namespace sg = stratagemm;
        sg::host const cpu{.threads = threads};
        sg::compressed_options const options{.seed = seed, .form = form};
        auto const x = sg::as_view(a);
        auto const y = sg::as_view(b);
        sg::compressed_parts::work<sg::host, R, std::remove_const_t<decltype(x)>,
                                   std::remove_const_t<decltype(y)>> const work(cpu, options, x, y);
        sg::footprint room;
        room.host = work.bytes(size);
        auto memory = cpu.reserve(room);
        memory.or_throw();
        matrix<R> c(x.rows, y.cols);
        work.each(size, R(1), *memory, 3,
                  [&](int, sg::index_t i, sg::index_t j, sg::index_t count, R const* estimated) {
                      for (sg::index_t l = 0; l < count; ++l) c(i, j + l) = estimated[l];
                  })
            .or_throw();
        return c;
    }
};
