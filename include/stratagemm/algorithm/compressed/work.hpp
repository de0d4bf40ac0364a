// What `compressed` and heavy() do with a pair of matrices, on the host or on a device: choose the sketches, make them,
// and look at what they say of each element.
#pragma once

#include "../../core/certificate.hpp"
#include "../approximate.hpp"
#include "device.hpp"
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
// A: m x k; B: k x n; both as they lie, without factors: matrices or, on the host, csr.
template <class Base, class R, class A = view<R const, typename Base::space>, class B = A>
class work {
    using arena = typename Base::arena;
    using space = typename Base::space;
    using matrix = view<R const, space>;
    static constexpr bool on_host = host_leaf<leaf_of<Base>>;
    static constexpr bool is_sparse = is_csr_list<A> || is_csr_list<B>;
    static constexpr int probes = 16; // vectors that |A B| is estimated with

public:
    work(Base const& base, compressed_options const& options, A const& a, B const& b)
        : base_(base), options_(options), a_(a), b_(b) {}

    // `bad` is Z of choice.hpp, and `fails` the probability that a median may be bad.
    plan plan_for(double bad, double fails, [[maybe_unused]] double threads = 1) const {
        constexpr index_t longest = index_t{1} << 30;
        if (a_.rows > longest || b_.cols > longest) return {};
        auto const m = static_cast<double>(a_.rows), n = static_cast<double>(b_.cols),
                   k = static_cast<double>(a_.cols);
        auto times = [&] {
            double const lanes = on_host ? static_cast<double>(compressed_kernels_here<R>().lanes) : 1;
            double const listed = static_cast<double>(listed_elements(a_) + listed_elements(b_));
            if constexpr (on_host)
                return compressed_times{m, n, k, listed, lanes, 1};
            else
                return compressed_device_times{m, n, k, sizeof(R), base_.leaf().limits().bandwidth};
        }();
        plan made{choose_size(bad, fails, times, options_.form)};
        if (made.size.sketches == 0) return made;
        if constexpr (on_host) times.threads = threads;
        made.seconds = times.of(made.size, options_.form);
        // A sum over the transform of a sketch has b roundings that differ in sign; of each element of C, one such sum.
        made.rounding =
            4 * unit_roundoff<R>() * __builtin_sqrt(m * n / static_cast<double>(made.size.buckets()));
        return made;
    }

    // The work of B^T A^T.
    work turned() const { return {base_, options_, b_.transposed(), a_.transposed()}; }

    // Workspace of sketches, by at most so many threads.
    std::size_t bytes(sketch_size size) const {
        if constexpr (!on_host)
            return on_device(size).template bytes<arena>();
        else
            return with(size, all_threads(base_.leaf()),
                        [](auto& sketch) { return sketch.template bytes<arena>(); });
    }
    auto on_device(sketch_size size) const {
        return device_sketch<Base, R>(base_, a_, b_.transposed(), size);
    }
    // On the host: f(part, i, j, count, x) for all elements of A B, a piece of a row at a time, with alpha times their
    // estimates in x; parts are runs of rows.
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
        footprint room;
        if constexpr (!is_csr_list<A>) room = base_.workspace(times_vectors(a_.rows, a_.cols));
        if constexpr (!is_csr_list<B>) room = larger(room, base_.workspace(times_vectors(b_.rows, b_.cols)));
        for (index_t const rows : {b_.cols, b_.rows, a_.rows}) space::share(room) += bytes_of(rows);
        space::share(room) += approximate_parts::bytes_for_squares<arena, R>(space{}, probes, a_.rows);
        return room;
    }
    // |A B| is not more, but with a probability of `fails`, whatever A and B are.
    status norm_of_product(double fails, double& norm, arena& memory) const {
        typename arena::scope const scope(memory);
        auto const x = take(b_.cols, memory), y = take(b_.rows, memory), z = take(a_.rows, memory);
        std::uint64_t const seed = ~options_.seed * 0x9e3779b97f4a7c15u;
        if constexpr (on_host) {
            write_normals(base_.leaf(), seed, 0, 0, x);
        } else {
            if (status s = write_normals_on_device(base_.leaf(), seed, 0, 0, x); !s) return s;
        }
        if (status s = multiply(b_, x, y, memory); !s) return s;
        if (status s = multiply(a_, y, z, memory); !s) return s;
        double squares[probes], all = 0;
        matrix const lines = z.transposed();
        if (status s = approximate_parts::squares_of_rows(base_.leaf(), lines, squares, memory); !s) return s;
        for (double const one : squares) all += one;
        norm = certified(probes, 1 - fails) * __builtin_sqrt(all / probes);
        return {};
    }

private:
    template <class F>
    auto with(sketch_size size, int team, F const& f) const {
        if constexpr (!is_sparse)
            if (options_.form == compressed_form::fourier) {
                fourier_sketch<Base, R> sketch(base_, a_, b_.transposed(), size, team);
                return f(sketch);
            }
        walsh_hadamard_sketch<leaf_of<Base>, R, A, B> sketch(base_.leaf(), a_, b_, size, team);
        return f(sketch);
    }
    static std::size_t bytes_of(index_t rows) {
        return arena::rounded(static_cast<std::size_t>(rows * probes) * sizeof(R));
    }
    static view<R, space> take(index_t rows, arena& memory) {
        return {memory.template take<R>(rows * probes), rows, probes, probes, 1};
    }
    static auto times_vectors(index_t rows, index_t cols) { return shape<R>{rows, probes, cols}; }
    template <class X>
    status multiply(X const& x, view<R, space> const& by, view<R, space> const& to, arena& memory) const {
        if constexpr (is_csr_list<X>) {
            approximate_parts::add_times_vectors<leaf_of<Base>>(base_.leaf(), R(1), x, view<R const>(by),
                                                                R(0), to);
            return {};
        } else {
            return base_(dense_problem<R, R, R, space>{R(1), x, by, R(0), to, to}, memory);
        }
    }

    Base const& base_;
    compressed_options const& options_;
    A a_;
    B b_;
};

} // namespace compressed_parts

STRATAGEMM_END
