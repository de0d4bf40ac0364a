// What `compressed` and heavy() do with a pair of matrices on the host: choose the sketches, make them, and look at
// what they say of each element.
#pragma once

#include "../../core/certificate.hpp"
#include "../approximate.hpp"
#include "fourier.hpp"
#include "recovery.hpp"
#include "transforms.hpp"

STRATAGEMM_BEGIN

struct compressed_options {
    double tolerance = 0;     // of |C - A B| / |A||B|; it has to be given, but for heavy()
    double confidence = 0.99; // the probability that a result keeps it
    std::uint64_t seed = 0;
    stratagemm::otherwise otherwise = stratagemm::otherwise::refuse;
    bool certify = false;
    stratagemm::report* report = nullptr;
    index_t nonzeros = 0; // the most elements of A B that are not zero; 0: unknown
    compressed_form form = compressed_form::walsh_hadamard;
};

namespace compressed_parts {

// Sketches of products of one shape. `bad` is Z of choice.hpp, and `fails` the probability that a median may be bad.
struct plan {
    sketch_size size;
    double seconds = 0;  // of one thread
    double rounding = 0; // of C, relative to |A||B|, in the Frobenius norm
};
template <class R>
plan plan_for(double m, double n, double k, double bad, double fails, compressed_form form,
              double threads = 1) {
    constexpr double longest = 0x1p30;
    if (m > longest || n > longest) return {};
    compressed_times times{m, n, k, static_cast<double>(compressed_kernels_here<R>().lanes), 1};
    plan made{choose_size(bad, fails, times, form)};
    if (made.size.sketches == 0) return made;
    times.threads = threads;
    made.seconds = times.of(made.size, form);
    // A sum over the transform of a sketch has b roundings that differ in sign; of each element of C, one such sum.
    made.rounding = 4 * unit_roundoff<R>() * __builtin_sqrt(m * n / static_cast<double>(made.size.buckets()));
    return made;
}

// A: m x k; B: k x n; both as they lie, without factors.
template <class Base, class R>
class work {
    using arena = typename Base::arena;
    static constexpr int probes = 16; // vectors that |A B| is estimated with

public:
    work(Base const& base, compressed_options const& options, view<R const> const& a, view<R const> const& b)
        : base_(base), options_(options), a_(a), b_(b) {}

    // Workspace of sketches, by at most so many threads.
    std::size_t bytes(sketch_size size) const {
        return with(size, all_threads(base_.leaf()),
                    [](auto& sketch) { return sketch.template bytes<arena>(); });
    }
    // f(part, i, j, count, x) for all elements of A B, a piece of a row at a time, with alpha times their estimates
    // in x; parts are runs of rows.
    template <class F>
    status each(sketch_size size, R alpha, arena& memory, int parts, F const& f) const {
        double const sums = static_cast<double>(size.numbers()) * static_cast<double>(a_.cols),
                     elements = static_cast<double>(a_.rows) * static_cast<double>(b_.cols);
        int const team = base_.leaf().team(sums + elements * size.sketches);
        return with(size, team, [&](auto& sketch) -> status {
            if (status s = sketch.run(options_.seed, memory); !s) return s;
            each_median<R>(base_.leaf(), sketch, alpha, a_.rows, b_.cols, team, parts, f);
            return {};
        });
    }

    footprint room_of_norm() const {
        footprint room = larger(base_.workspace(times_vectors(b_.rows, b_.cols)),
                                base_.workspace(times_vectors(a_.rows, a_.cols)));
        for (index_t const rows : {b_.cols, b_.rows, a_.rows}) room.host += bytes_of(rows);
        return room;
    }
    // |A B| is not more, but with a probability of `fails`, whatever A and B are.
    status norm_of_product(double fails, double& norm, arena& memory) const {
        typename arena::scope const scope(memory);
        auto const x = take(b_.cols, memory), y = take(b_.rows, memory), z = take(a_.rows, memory);
        write_normals(base_.leaf(), ~options_.seed * 0x9e3779b97f4a7c15u, 0, 0, x);
        if (status s = multiply(b_, x, y, memory); !s) return s;
        if (status s = multiply(a_, y, z, memory); !s) return s;
        double squares = 0;
        for (index_t i = 0; i < z.rows * probes; ++i)
            squares += static_cast<double>(z.data[i]) * static_cast<double>(z.data[i]);
        norm = certified(probes, 1 - fails) * __builtin_sqrt(squares / probes);
        return {};
    }

private:
    template <class F>
    auto with(sketch_size size, int team, F const& f) const {
        if (options_.form == compressed_form::fourier) {
            fourier_sketch<Base, R> sketch(base_, a_, b_.transposed(), size, team);
            return f(sketch);
        }
        walsh_hadamard_sketch<leaf_of<Base>, R> sketch(base_.leaf(), a_, b_.transposed(), size, team);
        return f(sketch);
    }
    static std::size_t bytes_of(index_t rows) {
        return arena::rounded(static_cast<std::size_t>(rows * probes) * sizeof(R));
    }
    static view<R> take(index_t rows, arena& memory) {
        return {memory.template take<R>(rows * probes), rows, probes, probes, 1};
    }
    static auto times_vectors(index_t rows, index_t cols) { return shape<R>{rows, probes, cols}; }
    status multiply(view<R const> const& x, view<R> const& by, view<R> const& to, arena& memory) const {
        return base_(dense_problem<R, R, R>{R(1), x, by, R(0), to, to}, memory);
    }

    Base const& base_;
    compressed_options const& options_;
    view<R const> a_, b_;
};

} // namespace compressed_parts

STRATAGEMM_END
