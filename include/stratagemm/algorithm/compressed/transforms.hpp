// The sketches of a compressed product in form Walsh-Hadamard, on the host.
//
// The transform of a sketch of A B consists of elements of (H A)(B H), where H are Hadamard matrices (hashes.hpp). So A
// and B are transformed once for all sketches, and each bucket of each sketch is a dot product of k terms. The
// transforms are made for a panel of k at a time, which stays in the cache; the dot products are sorted by tiles of
// rows that do so, too. The sums over panels are in the order of k, whatever the number of threads.
//
// A sparse operand takes a step for each element, once, and the same transforms. (Pagh's order of steps, which
// transforms the b buckets of a sketch for each k instead, takes 2 d k b log b: ten times as long as all of this at
// 2048 x 2048 x 1024, 30% of the elements not zero, with 100 elements in C.)
#pragma once

#include "../../backend/host/caches.hpp"
#include "../../core/problem.hpp"
#include "hashes.hpp"
#include "kernels.hpp"
#include "recovery.hpp"
#include "sparse.hpp"

#include <cstring>
#include <new>

STRATAGEMM_BEGIN

namespace compressed_parts {

// What lies in workspace. take(array, count) for each array.
template <class R>
struct walsh_hadamard_room {
    linear_hash* hashes;
    std::uint32_t *begins, *cols, *slots;
    R *sums, *tables, *panels, *rooms;
    sparse_stripes<R> listed[2];

    template <class Take>
    void each(index_t keys, sketch_size size, index_t panels_of_all, index_t room_of_all, Take&& take) {
        index_t const count = size.numbers();
        take(hashes, size.sketches), take(begins, keys + 1), take(cols, count), take(slots, count);
        take(sums, count), take(tables, count), take(panels, panels_of_all), take(rooms, room_of_all);
    }
};

// The transform of a sketch becomes the sketch. `room` has a gap behind each 64 rows of a vector.
template <class R>
void transform_table(R* table, index_t buckets, R* room) {
    auto const& with = hadamard_kernels_here<R>();
    hadamard_block<R> g{};
    g.from = {table, with.lanes}, g.to = {table, with.lanes}, g.room = {room, with.lanes, true};
    g.bits = bits_of(buckets / with.lanes), g.width = with.lanes, g.top = with.lanes / 2, g.last = 1;
    g.factors[0] = g.factors[1] = R(1) / static_cast<R>(buckets);
    with.transform(g);
}

// A: m x k; B: k x n; each a matrix or a csr.
template <class Leaf, class R, class A = view<R const>, class B = A>
class walsh_hadamard_sketch {
    static constexpr index_t width = compressed_width<R>;
    static constexpr bool is_listed[] = {is_csr_list<A>, is_csr_list<B>};

public:
    walsh_hadamard_sketch(Leaf const& leaf, A const& a, B const& b, sketch_size size, int team)
        : leaf_(leaf), a_(a), b_(b), of_{lines_of(a), lines_of(b).transposed()},
          size_(size), bits_{bits_of(a.rows), bits_of(b.cols)}, team_(team),
          with_(hadamard_kernels_here<R>()), kernels_(compressed_kernels_here<R>()) {
        constexpr index_t row_bytes = width * static_cast<index_t>(sizeof(R));
        index_t const room = second_level_cache() / 4 / row_bytes;
        while (tile_ < padded(1) && 2 * tile_ <= room) tile_ *= 2;
        keys_ = padded(0) * divide_up(padded(1), tile_);
        together_ = larger_of(1, team_ / 4);
        index_t const lines = larger_of(larger_of(padded(0), padded(1)), size.buckets() / with_.lanes);
        room_ = hadamard_rows<R>::with_gaps(lines) * with_.lanes;
    }

    template <class Arena>
    std::size_t bytes() const {
        std::size_t all = 0;
        each_array([&]<class E>(E*&, index_t count) {
            all += Arena::rounded(static_cast<std::size_t>(count) * sizeof(E));
        });
        return all;
    }
    template <class Arena>
    status run(std::uint64_t seed, Arena& memory) {
        if (status s = isa_status(); !s) return s;
        each_array([&]<class E>(E*& array, index_t count) { array = memory.template take<E>(count); }, &own_);
        for (index_t s = 0; s < size_.sketches; ++s)
            new (own_.hashes + s) linear_hash(seed, s, size_.bits, bits_[0], bits_[1]);
        list_entries();
        if constexpr (is_csr_list<A>)
            own_.listed[0].list(a_, stripes(), with_.lanes,
                                [](index_t i, index_t l, auto const& f) { f(i, l); });
        if constexpr (is_csr_list<B>)
            own_.listed[1].list(b_, stripes(), with_.lanes,
                                [](index_t l, index_t j, auto const& f) { f(j, l); });
        index_t const panels = divide_up(of_[0].cols, width);
        for (index_t p = 0; p < panels; p += together_) add_panels(p, smaller(together_, panels - p));
        finish();
        return {};
    }

    index_t piece() const { return linear_row<R>::piece(size_); }

    // Estimates of the elements of a row of C.
    struct row : linear_row<R> {
        explicit row(walsh_hadamard_sketch const& of)
            : linear_row<R>(of.own_.hashes, of.own_.tables, of.size_) {}
    };

private:
    index_t padded(int side) const { return index_t{1} << bits_[side]; }
    R* panel(int side, index_t which) const {
        return own_.panels + (which * (padded(0) + padded(1)) + (side == 0 ? 0 : padded(0))) * width;
    }
    template <class Take>
    void each_array(Take&& take, walsh_hadamard_room<R>* arrays = nullptr) const {
        walsh_hadamard_room<R> none{};
        auto& room = arrays ? *arrays : none;
        room.each(keys_, size_, together_ * (padded(0) + padded(1)) * width, room_ * team_, take);
        index_t const elements[] = {listed_elements(a_), listed_elements(b_)};
        for (int side = 0; side < 2; ++side)
            if (is_listed[side])
                take(room.listed[side].begins, stripes() + 1),
                    take(room.listed[side].entries, elements[side]);
    }
    // The stripes of k, each a vector wide.
    index_t stripes() const { return divide_up(of_[0].cols, width) * (width / with_.lanes); }
    // A csr as a matrix without elements.
    static view<R const> lines_of(view<R const> const& x) { return x; }
    template <class X>
    static view<R const> lines_of(X const& x) {
        return {nullptr, x.rows, x.cols, x.cols, 1};
    }

    // Sorts the elements of all sketches by tiles of rows of B, then by rows of A.
    void list_entries() {
        std::uint32_t* const begins = own_.begins + 1;
        auto const each = [&](auto const& f) {
            for (index_t s = 0; s < size_.sketches; ++s)
                own_.hashes[s].each_place(
                    bits_[1], [&](std::uint32_t w, std::uint32_t line, std::uint32_t col) {
                        f(begins[col / tile_ * padded(0) + line], s * size_.buckets() + w, col);
                    });
        };
        for (index_t i = 0; i <= keys_; ++i) own_.begins[i] = 0;
        each([](std::uint32_t& count, index_t, std::uint32_t) { ++count; });
        std::uint32_t sum = 0;
        for (index_t i = 0; i < keys_; ++i) sum += std::exchange(begins[i], sum);
        each([&](std::uint32_t& next, index_t slot, std::uint32_t col) {
            own_.cols[next] = col, own_.slots[next] = static_cast<std::uint32_t>(slot), ++next;
        });
        for (index_t i = 0; i < size_.numbers(); ++i) own_.sums[i] = R(0);
    }

    // Transforms `count` panels, and adds their dot products.
    void add_panels(index_t first, index_t count) {
        index_t const stripes = width / with_.lanes;
        auto const units = static_cast<int>(2 * count * stripes);
        leaf_.each(team_, units, [&](int thread, int unit) {
            index_t const which = unit / 2 / stripes, stripe = unit / 2 % stripes * with_.lanes;
            transform(unit % 2, (first + which) * width + stripe, panel(unit % 2, which) + stripe,
                      own_.rooms + thread * room_);
        });
        int const parts = 8 * team_;
        leaf_.each(team_, parts, [&](int, int part) {
            index_t const begin = key_at(part, parts), end = key_at(part + 1, parts);
            for (index_t which = 0; which < count; ++which)
                kernels_.dots({panel(0, which), panel(1, which), padded(0), own_.begins, own_.cols, own_.sums,
                               begin, end});
        });
    }
    // The first key behind `part` of `parts` of the elements.
    index_t key_at(int part, int parts) const {
        index_t const target = size_.numbers() * part / parts;
        index_t low = 0, high = keys_;
        while (low < high) {
            index_t const middle = (low + high) / 2;
            if (own_.begins[middle] < target)
                low = middle + 1;
            else
                high = middle;
        }
        return part == parts ? keys_ : low;
    }
    // A vector of columns of an operand from column k on, transformed, in rows that are `width` apart.
    void transform(int side, index_t k, R* to, R* room) const {
        hadamard_block<R> g{};
        g.room = {room, with_.lanes, true}, g.to = {to, width};
        g.bits = bits_[side], g.width = with_.lanes, g.last = 1, g.factors[0] = g.factors[1] = R(1);
        auto const& x = of_[side];
        if (!is_listed[side] && x.col_stride == 1 && x.rows == padded(side) && k + with_.lanes <= x.cols) {
            g.from = {x.data + k, x.row_stride};
        } else {
            gather(side, k, g.room);
            g.from = {room, with_.lanes, true};
        }
        with_.transform(g);
    }
    void gather(int side, index_t k, hadamard_rows<R> const& to) const {
        auto const& x = of_[side];
        index_t const W = with_.lanes, cols = larger_of(0, smaller(W, x.cols - k));
        if (is_listed[side]) return scatter(own_.listed[side], k / W, padded(side), to);
        index_t i = 0;
        if (x.row_stride == 1 && cols == W) // a gap comes behind 64 rows, and W divides these
            for (; i + W <= x.rows; i += W)
                kernels_.turn(x.data + i + k * x.col_stride, x.col_stride, to.data + to.at(i), to.row);
        if (x.col_stride == 1 && cols == W)
            for (; i < x.rows; ++i)
                std::memcpy(to.data + to.at(i), x.data + i * x.row_stride + k,
                            static_cast<std::size_t>(W) * sizeof(R));
        for (; i < padded(side); ++i)
            for (index_t l = 0; l < W; ++l)
                to.data[to.at(i) + l] =
                    i < x.rows && l < cols ? x.data[i * x.row_stride + (k + l) * x.col_stride] : R(0);
    }

    void scatter(sparse_stripes<R> const& from, index_t stripe, index_t rows,
                 hadamard_rows<R> const& to) const {
        for (index_t at = 0; at < hadamard_rows<R>::with_gaps(rows) * to.row; ++at) to.data[at] = R(0);
        for (index_t at = from.begins[stripe]; at < from.begins[stripe + 1]; ++at) {
            auto const& x = from.entries[at];
            to.data[to.at(x.line) + x.lane] += x.value; // places may repeat
        }
    }

    // Puts the sums where they belong, and transforms each sketch.
    void finish() {
        for (index_t i = 0; i < size_.numbers(); ++i) own_.tables[own_.slots[i]] = own_.sums[i];
        leaf_.each(team_, size_.sketches, [&](int thread, int sketch) {
            transform_table(own_.tables + sketch * size_.buckets(), size_.buckets(),
                            own_.rooms + thread * room_);
        });
    }

    Leaf leaf_;
    A a_;
    B b_;
    view<R const> of_[2]; // B as n x k
    sketch_size size_;
    int bits_[2], team_;
    hadamard_kernels<R> const& with_;
    compressed_kernels<R> const& kernels_;
    index_t tile_ = 1, keys_, together_, room_;
    walsh_hadamard_room<R> own_{};
};

} // namespace compressed_parts

STRATAGEMM_END
