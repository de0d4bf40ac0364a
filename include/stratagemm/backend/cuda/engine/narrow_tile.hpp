// The configuration of the kernels for few columns, and what a block has of C for given sides.
#pragma once

#include "../lines.hpp"
#include "../source.hpp"
#include "few_columns.hpp"

STRATAGEMM_BEGIN

// How such a product lies. Along k: rows of a warp, and warps that share the terms of these, so that there are enough
// warps; else: threads side by side, few enough for many blocks.
struct cuda_narrow_form {
    bool along_k = true, on_tensor_cores = false;
    bool shifted = false; // lines begin anywhere
    short slices = 1;     // of shifted: warps that share the terms of rows
};
// Whether a vector is multiplied by a matrix that takes more than half of a second-level cache.
constexpr bool is_large_vector(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, std::size_t element) {
    return n == 1 && static_cast<std::size_t>(m) * static_cast<std::size_t>(k) * element > 30000000;
}

// Multiprocessors that clusters of so many blocks fill. Those of a cluster are neighbours, so that more than two leave
// over some of them: of 132, clusters of four and of eight took 120 at a time.
constexpr int units_filled(int blocks, int units) {
    int const filled = blocks > 2 ? units * 10 / 11 : units;
    return filled < blocks ? blocks : filled / blocks * blocks;
}

struct cuda_narrow {
    static constexpr char const* name = "narrow";

    short n = 0;      // columns of C
    short slices = 1; // warps that share the terms of rows
    // What a caller may ask for: parts of k, which the blocks of a cluster add up; and the kernel for lines of A along k
    // that begin anywhere, also in sizes in which it is never faster.
    short parts = 0;
    bool together = false, anywhere = false;
    // Of a block, once it is known how A lies.
    short m = 0, k = 0, micro_m = 1, micro_n = 1;
    short apart = 1; // how far apart its rows are

    friend bool operator==(cuda_narrow const&, cuda_narrow const&) = default;
    friend auto operator<=>(cuda_narrow const&, cuda_narrow const&) = default;

    static constexpr bool truncates(std::size_t element) { return element == 2; }
    static constexpr int threads() { return 256; }
    std::string describe() const { return name; }

    static bool takes(cuda_query const& q);
    static bool keeps_order(cuda_order const&, char, cuda_device const&) { return false; }
    template <class F>
    static void candidates(cuda_query const& q, F& f);
    template <class F>
    void candidates_as_given(cuda_query const& q, F& f) const;
    template <class In, class Out, class A, class, class Epilogue>
    cuda_source source(cuda_form const& form, Epilogue const& epilogue) const;
    template <class Product>
    status launch(Product const& p, cuda_way const& way, cuda_arena& memory) const;
    // Writes to C, or writes sums of parts of k to workspace.
    template <class Product, class Arguments, class Epilogue>
    status run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments x,
               Epilogue const& epilogue, cuda_arena& memory) const;
    template <class Product>
    static cuda_form form_of(Product const& p, cuda_way const& way);
    template <class Product>
    static bool copies_b(Product const& p, cuda_form const& form);
    // Bytes of copies of operands: of any, and of those of a product.
    template <class In>
    static std::size_t copies_at_most(cuda_sides const& s) {
        return cuda_lines<In>::bytes(s.n, s.k, s.count);
    }
    template <class Product>
    std::size_t copies(Product const& p, cuda_way const& way) const;

    // For m x n x k on so many multiprocessors.
    static cuda_narrow for_sides(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, std::size_t element,
                                 std::size_t scalar, cuda_narrow_form const& f, int units) {
        auto const cols = static_cast<short>(n);
        auto const size = static_cast<std::ptrdiff_t>(element);
        if (!f.along_k) return along_m(cols, m, k, size, scalar, f, units);
        if (f.shifted) return shifted_along_k(cols, m, size, f.slices);
        cuda_narrow t{.n = cols};
        bool const on_tensor_cores = f.on_tensor_cores;
        std::ptrdiff_t const piece = (on_tensor_cores ? 4 : 32) * 16 / size, wanted = 32 * units;
        t.micro_m = on_tensor_cores ? 16 : size == 1 || scalar > 4 ? 2 : 4;
        while (!on_tensor_cores && t.micro_m > 1 && m < t.micro_m * units)
            t.micro_m = static_cast<short>(t.micro_m / 2);
        while (t.slices < 8 && m * t.slices < t.micro_m * wanted && k >= 2 * piece * t.slices)
            t.slices = static_cast<short>(2 * t.slices);
        t.m = static_cast<short>(8 / t.slices * t.micro_m);
        return t;
    }
    // Whether so many warps may share the terms of rows: a block brings B to shared memory, and has at least as many
    // rows as B has columns.
    static constexpr bool can_slice(std::ptrdiff_t n, int slices) {
        return slices == 1 || ((slices == 2 || slices == 4 || slices == 8) && n * slices <= 64);
    }
    // Dynamic shared memory: the sums of a block that others of its cluster read, and before them a part of B where it
    // is shifted, or sums of warps that share terms.
    std::size_t shared_bytes(std::size_t element, std::size_t scalar, cuda_form const& f) const {
        bool const in_slices = f.a_along_k && f.shifted && slices > 1;
        int const warps = f.together + (in_slices ? slices : 0);
        std::size_t const sums = (static_cast<std::size_t>(warps * m * n) * scalar + 15) / 16 * 16;
        std::size_t const of_b =
            f.a_along_k && f.shifted ? static_cast<std::size_t>((n + 15) / 16 * 16 * k) * element : 0;
        return sums > of_b ? sums : of_b;
    }

private:
    static cuda_narrow along_m(short n, std::ptrdiff_t m, std::ptrdiff_t k, std::ptrdiff_t size,
                               std::size_t scalar, cuda_narrow_form const& f, int units) {
        cuda_narrow t{.n = n};
        t.k = 1024;
        while (static_cast<std::size_t>(t.k * ((n + 3) / 4 * 4)) * scalar > 32768)
            t.k = static_cast<short>(t.k / 2);
        std::ptrdiff_t const each = size == 1 ? 8 : 16 / size, rows = 8 * each;
        bool const large = size > 1 && is_large_vector(m, n, k, static_cast<std::size_t>(size));
        // Wide blocks read longer parts of lines, if there are enough of them.
        if (f.on_tensor_cores)
            t.micro_m = 16, t.micro_n = size == 2 && !f.shifted && m > rows * units ? 16 : 8;
        else
            t.micro_n = m >= 6 * rows * units                             ? 32
                        : large && 5 * m >= 6 * rows * units && k >= 1024 ? 32
                        : n == 1 && size > 1 && 3 * m < 2 * rows * units  ? 4
                                                                          : 8;
        t.m = static_cast<short>((t.micro_n - f.shifted) * each);
        return t;
    }
    static cuda_narrow shifted_along_k(short n, std::ptrdiff_t m, std::ptrdiff_t size, short slices) {
        cuda_narrow t{.n = n, .slices = slices};
        int const pairs = (n + 15) / 16; // of eights of columns
        t.apart = static_cast<short>(16 / size), t.micro_m = 16;
        t.m = static_cast<short>(slices > 1 ? 64 / slices : m > 64 * t.apart ? 128 : 64);
        t.k = pairs == 1 ? 1024 : pairs == 2 ? 512 : 256;
        return t;
    }
};

STRATAGEMM_END
