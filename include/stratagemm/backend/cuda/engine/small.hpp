// Many small products in one launch, several to a block, each of which is in shared memory as a whole.
#pragma once

#include "../kernels/copies.cu.hpp"
#include "../source.hpp"
#include "small.cu.hpp"

STRATAGEMM_BEGIN

struct cuda_small {
    static constexpr char const* name = "small";

    short m = 0, n = 0, k = 0;      // of a product
    short micro_m = 1, micro_n = 1; // of C for each thread
    short products = 1;             // of a block
    short stages = 1;               // of shared memory

    friend bool operator==(cuda_small const&, cuda_small const&) = default;
    friend auto operator<=>(cuda_small const&, cuda_small const&) = default;

    static constexpr bool widens = false;
    static bool takes(cuda_query const& q) {
        return q.is_batch_of_small() && !q.layout.widens() &&
               (!q.invariant || keeps_order(q.order, q.type, q.device));
    }
    static bool keeps_order(cuda_order const& order, char, cuda_device const&) {
        return !order.on_tensor_cores;
    }

    template <class F>
    static void candidates(cuda_query const& q, F& f) {
        cuda_way way;
        way.invariant = q.invariant, way.surely = true, way.cycles = f.least();
        if (q.invariant) way.piece = q.order.piece;
        f(for_sides(q.sides.m, q.sides.n, q.sides.k, q.element), way);
    }

    // Threads have few elements, so that neighbours store whole lines of memory. Where columns come in no vectors, a
    // thread has one column, if the kernel then does not read more than it multiplies. A block has about 128 threads and
    // up to 21 KB of operands at a time, or 44 where 21 KB are not enough for 64 threads or for whole vectors.
    static cuda_small for_sides(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, std::size_t element) {
        if (m < 1 || n < 1 || k < 1) return {};
        std::ptrdiff_t const width = n % 4 == 0 || n >= 24 ? 4 : n % 2 == 0 ? 2 : 1;
        std::ptrdiff_t const most = m > 24 && element < 16 ? 8 : m > 8 ? 4 : (m > 4 ? 8 : 4) / width;
        std::ptrdiff_t const along_m = (m - 1) / most + 1; // threads
        cuda_small t{static_cast<short>(m), static_cast<short>(n), static_cast<short>(k),
                     static_cast<short>((m - 1) / along_m + 1), static_cast<short>(width)};
        // The bytes include gaps in shared memory, of which a block has 48 KB.
        std::size_t const bytes = static_cast<std::size_t>((m + n) * k) * element * 9 / 8 + 32;
        auto const fits = [&](std::size_t some, std::size_t kilobytes) {
            return some * bytes <= kilobytes * 1024;
        };
        auto const dense = [&] { // a group begins at a multiple of 16 bytes
            auto const size = static_cast<std::size_t>(t.products) * element;
            return static_cast<std::size_t>(m * k) * size % 16 == 0 &&
                   static_cast<std::size_t>(k * n) * size % 16 == 0;
        };
        auto const twice = [&] { return 2 * static_cast<std::size_t>(t.products); };
        while (fits(twice(), 44) && t.threads() < 256 &&
               (!dense() || t.threads() < 64 || (t.threads() < 128 && fits(twice(), 21))))
            t.products = static_cast<short>(2 * t.products);
        // Where vectors of numbers are multiplied as they are, so many blocks fetch at a time that one stage is best.
        if (element < 4 || n % 4 != 0)
            while (t.stages < 3 && fits(static_cast<std::size_t>(t.products * (t.stages + 1)), 48))
                ++t.stages;
        return t;
    }

    int threads() const { return ((m - 1) / micro_m + 1) * ((n - 1) / micro_n + 1) * products; }

    std::string describe() const {
        return std::string(name) + ", " + std::to_string(products) + " products to a block of " +
               std::to_string(threads()) + " threads";
    }

    template <class In, class Out, class, class, class Epilogue>
    cuda_source source(cuda_form const& form, Epilogue const& epilogue) const {
        cuda_definitions d;
        d("DENSE", form.dense)("SIDE_M", m)("SIDE_N", n)("SIDE_K", k)("PRODUCTS", products);
        d.tile(*this, stages, products, 1).form(form);
        std::string const body = std::string(cuda_copies_text) + cuda_small_text;
        cuda_source made = cuda_source_of<In, Out>(name, body.c_str(), epilogue, d.text());
        made.threads = threads();
        return made;
    }

    template <class Product>
    status launch(Product const& p, cuda_way const& way, cuda_arena&) const {
        cuda_form form = p.form_as_lying(way);
        // Both operands may be read as vectors where batches have no gaps.
        auto const dense = [&]<class Lines>(Lines const& x) {
            auto const size = x.view.rows * x.view.cols;
            return reinterpret_cast<std::uintptr_t>(x.view.data.address) % 16 == 0 &&
                   size * products * static_cast<std::ptrdiff_t>(sizeof(*x.view.data.address)) % 16 == 0 &&
                   x.step == size && x.view.col_stride == 1 &&
                   (x.view.row_stride == x.view.cols || x.view.rows == 1);
        };
        form.dense = dense(p.line_view_a()) && dense(p.line_view_b());
        auto compiled = p.compiled(*this, form, p.epilogue());
        if (!compiled) return compiled.take_status();
        auto const groups = (p.sides().count - 1) / products + 1,
                   places = std::ptrdiff_t{p.device().units} * (*compiled)->resident;
        bool const stay = stages > 1 && groups > places;
        return p.launch(**compiled, form, stay ? places : groups, threads(), p.arguments(way));
    }
};

STRATAGEMM_END
