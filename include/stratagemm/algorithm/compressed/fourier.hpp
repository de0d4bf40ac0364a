// The sketches of a compressed product in form Fourier, on the host, as Pagh has them: for each k, the sketches of a
// column of A and of a row of B are transformed and multiplied; the products are added up, and transformed back.
//
// A panel of k at a time is transformed by one product with rdft.
#pragma once

#include "../../core/policy.hpp"
#include "../../structure/rdft.hpp"
#include "../../structure/toeplitz/spectrum.hpp"
#include "hashes.hpp"
#include "kernels.hpp"

STRATAGEMM_BEGIN

namespace compressed_parts {

template <class R>
struct fourier_room {
    std::uint32_t *rows, *cols; // buckets, and 1 << 31 for a sign
    R *tables, *sketches;       // sketches: of a panel of A, beside one of B
    dft_complex<R>*spectra, *sum;

    template <class Take>
    void each(index_t m, index_t n, sketch_size size, Take&& take) {
        index_t const frequencies = size.buckets() / 2 + 1, both = 2 * compressed_width<R>;
        take(rows, m * size.sketches), take(cols, n * size.sketches), take(tables, size.numbers());
        take(sketches, size.buckets() * both), take(spectra, frequencies * both), take(sum, frequencies);
    }
};

// A: m x k, and B as n x k.
template <class Base, class R>
class fourier_sketch {
    using number = dft_complex<R>;
    using forward = problem<dft<R>, view<R const>, view<number>>;
    using back = problem<irdft<R>, view<number const>, view<R>>;
    static constexpr index_t width = compressed_width<R>;
    static constexpr std::uint32_t sign = std::uint32_t{1} << 31;

public:
    fourier_sketch(Base const& base, view<R const> const& a, view<R const> const& b, sketch_size size,
                   int team)
        : base_(base), of_{a, b}, size_(size), team_(team) {}

    template <class Arena>
    std::size_t bytes() const {
        std::size_t all = 0;
        fourier_room<R>{}.each(of_[0].rows, of_[1].rows, size_, [&]<class E>(E*&, index_t count) {
            all += Arena::rounded(static_cast<std::size_t>(count) * sizeof(E));
        });
        footprint const inner = larger(dft_product<Base>(base_).workspace(transform_of_panel().shape()),
                                       dft_product<Base>(base_).workspace(transform_back(0).shape()));
        return all + inner.host;
    }
    template <class Arena>
    status run(std::uint64_t seed, Arena& memory) {
        own_.each(of_[0].rows, of_[1].rows, size_,
                  [&]<class E>(E*& array, index_t count) { array = memory.template take<E>(count); });
        for (index_t s = 0; s < size_.sketches; ++s) {
            draw(seed, s);
            if (status done = add(s, memory); !done) return done;
        }
        return {};
    }

    int sketches() const { return size_.sketches; }
    R const* table(index_t sketch) const { return own_.tables + sketch * size_.buckets(); }
    index_t piece() const { return width; }

    // Estimates of the elements of a row of C.
    class row {
    public:
        explicit row(fourier_sketch const& of) : of_(of), network_(of.sketches()) {}
        void move_to(index_t i) { i_ = i; }
        void estimate(index_t j, index_t count, R alpha, R* to) const {
            R x[most_sketches * width];
            for (int s = 0; s < of_.sketches(); ++s) of_.fetch(s, i_, j, count, x + s * width);
            compressed_kernels_here<R>().medians(network_, x, width);
            for (index_t l = 0; l < count; ++l) to[l] = alpha * x[of_.sketches() / 2 * width + l];
        }

    private:
        fourier_sketch const& of_;
        median_network network_;
        index_t i_ = 0;
    };

private:
    // What a sketch says of a row's columns from j on; zeros behind these, up to `width`.
    void fetch(index_t sketch, index_t i, index_t j, index_t count, R* to) const {
        R const* const buckets = table(sketch);
        std::uint32_t const h = rows_of(0, sketch)[i], mask = static_cast<std::uint32_t>(size_.buckets() - 1);
        std::uint32_t const* const cols = rows_of(1, sketch) + j;
        for (index_t l = 0; l < count; ++l) {
            R const x = buckets[(h + cols[l]) & mask];
            to[l] = (h ^ cols[l]) & sign ? -x : x;
        }
        for (index_t l = count; l < width; ++l) to[l] = R(0);
    }
    std::uint32_t* rows_of(int side, index_t sketch) const {
        return (side == 0 ? own_.rows : own_.cols) + sketch * of_[side].rows;
    }
    void draw(std::uint64_t seed, index_t sketch) const {
        auto const mask = static_cast<std::uint32_t>(size_.buckets() - 1);
        for (int side = 0; side < 2; ++side)
            for (index_t i = 0; i < of_[side].rows; ++i) {
                words_of_place const words(seed, sketch, i);
                rows_of(side, sketch)[i] = (words.at[2 * side] & mask) | (words.at[2 * side + 1] & sign);
            }
    }
    forward transform_of_panel() const {
        index_t const b = size_.buckets(), frequencies = b / 2 + 1, both = 2 * width;
        view<R const> const x{own_.sketches, b, both, both, 1};
        view<number> const y{own_.spectra, frequencies, both, both, 1};
        return {{R(1)}, rdft<R>(b), x, {}, y, y};
    }
    back transform_back(index_t sketch) const {
        index_t const b = size_.buckets(), frequencies = b / 2 + 1;
        view<number const> const x{own_.sum, frequencies, 1, 1, frequencies};
        view<R> const y{own_.tables ? own_.tables + sketch * b : nullptr, b, 1, 1, b};
        return {{R(1)}, irdft<R>(b), x, {}, y, y};
    }
    template <class Arena>
    status add(index_t sketch, Arena& memory) const {
        constexpr int parts = 8;
        index_t const frequencies = size_.buckets() / 2 + 1;
        for (index_t f = 0; f < frequencies; ++f) own_.sum[f] = {};
        for (index_t k = 0; k < of_[0].cols; k += width) {
            base_.leaf().each(team_, parts, [&](int, int part) { scatter(sketch, k, part % 2, part / 2); });
            if (status s = dft_product<Base>(base_)(transform_of_panel(), memory); !s) return s;
            base_.leaf().each(team_, parts, [&](int, int part) {
                for (index_t f = frequencies * part / parts; f < frequencies * (part + 1) / parts; ++f)
                    own_.sum[f] = own_.sum[f] + product_at(f);
            });
        }
        return dft_product<Base>(base_)(transform_back(sketch), memory);
    }
    number product_at(index_t frequency) const {
        number const* const line = own_.spectra + frequency * 2 * width;
        number sum{};
        for (index_t l = 0; l < width; ++l) sum = sum + line[l] * line[width + l];
        return sum;
    }
    // A quarter of a panel's columns from column k on.
    void scatter(index_t sketch, index_t k, int side, int quarter) const {
        constexpr index_t some = width / 4;
        auto const& x = of_[side];
        index_t const from = k + quarter * some, count = larger_of(0, smaller(some, x.cols - from));
        R* const to = own_.sketches + side * width + quarter * some;
        for (index_t i = 0; i < size_.buckets(); ++i)
            for (index_t l = 0; l < some; ++l) to[i * 2 * width + l] = R(0);
        for (index_t i = 0; i < x.rows; ++i) {
            std::uint32_t const h = rows_of(side, sketch)[i];
            R* const line = to + index_t{h & ~sign} * 2 * width;
            R const factor = h & sign ? R(-1) : R(1);
            for (index_t l = 0; l < count; ++l)
                line[l] += factor * x.data[i * x.row_stride + (from + l) * x.col_stride];
        }
    }

    Base const& base_;
    view<R const> of_[2];
    sketch_size size_;
    int team_;
    fourier_room<R> own_{};
};

} // namespace compressed_parts

STRATAGEMM_END
