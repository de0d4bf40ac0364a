// The configurations of the kernels for few columns: what a block may have of C.
#pragma once

#include "../lines.hpp"
#include "../source.hpp"
#include "few_columns.hpp"

STRATAGEMM_BEGIN

// How A is read, which says which of the kernels does so.
struct cuda_narrow_form {
    bool along_k = true, on_tensor_cores = false;
    bool shifted = false; // lines begin anywhere

    // The name of what the kernel costs.
    char const* costs() const {
        return along_k           ? shifted           ? "narrow along k, shifted"
                                   : on_tensor_cores ? "narrow along k, tensor cores"
                                                     : "narrow along k"
               : on_tensor_cores ? "narrow along m, tensor cores"
                                 : "narrow along m";
    }
};

struct cuda_narrow {
    static constexpr char const* name = "narrow";

    short n = 0;      // columns of C
    short slices = 1; // warps that share the terms of rows
    // What a caller may ask for: parts of k, which the blocks of a cluster add up; and the kernel for lines of A along k
    // that begin anywhere, also in sizes in which it is never faster.
    short parts = 0;
    bool together = false, anywhere = false;
    // Of a block: rows of C, and terms of B in shared memory at a time. Along k: rows of a warp, and 1; else: 16 for
    // tensor cores, and threads side by side.
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

    // Calls f with each block that a kernel may have.
    template <class F>
    static void each_block(std::ptrdiff_t n, std::size_t element, std::size_t scalar,
                           cuda_narrow_form const& form, F const& f) {
        auto const size = static_cast<short>(element);
        cuda_narrow t{.n = static_cast<short>(n)};
        if (!form.along_k)
            each_along_m(t, size, scalar, form, f);
        else if (form.shifted)
            each_shifted_along_k(t, size, f);
        else if (form.on_tensor_cores)
            each_sliced(t, 16, f);
        else
            for (short rows = size == 1 || scalar > 4 ? 2 : 4; rows > 0; rows /= 2) each_sliced(t, rows, f);
    }
    // Whether this is a block for an A that is read so.
    bool is_for(cuda_narrow_form const& form, std::size_t element) const {
        auto const each = static_cast<int>(element == 1 ? 8 : 16 / element);
        return m > 0 && form.along_k == (micro_n == 1) && form.on_tensor_cores == (micro_m == 16) &&
               (form.along_k ? form.shifted == (apart > 1) : m == (micro_n - form.shifted) * each);
    }
    // Calls f with each parameter, as files of measurements keep them.
    template <class Engine, class F>
    static void each_parameter(Engine& t, F const& f) {
        for (auto* const x : {&t.n, &t.m, &t.k, &t.micro_m, &t.micro_n, &t.slices, &t.apart}) f(*x);
    }
    // The place of its factor in the table of costs.
    int number() const {
        int const sides = micro_n > 1 ? micro_n : micro_m, warps = slices > 1 ? slices : m == 128 ? 16 : 1;
        auto const log2 = [](int x) {
            return x < 2 ? 0 : x < 4 ? 1 : x < 8 ? 2 : x < 16 ? 3 : x < 32 ? 4 : 5;
        };
        return apart > 1 ? log2(warps) : micro_n > 1 ? log2(micro_n) : 4 * (log2(sides) % 4) + log2(slices);
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
    template <class F>
    static void each_sliced(cuda_narrow t, short rows, F const& f) {
        for (t.slices = 1; t.slices <= 8; t.slices *= 2) {
            t.micro_m = rows, t.m = static_cast<short>(8 / t.slices * rows);
            f(t);
        }
    }
    template <class F>
    static void each_along_m(cuda_narrow t, short size, std::size_t scalar, cuda_narrow_form const& form,
                             F const& f) {
        t.k = 1024;
        while (static_cast<std::size_t>(t.k * ((t.n + 3) / 4 * 4)) * scalar > 32768) t.k /= 2;
        if (form.on_tensor_cores) t.micro_m = 16;
        // On tensor cores two warps may be beside each other.
        short const least = form.on_tensor_cores ? 8 : 4, most = !form.on_tensor_cores        ? 32
                                                                 : size == 2 && !form.shifted ? 16
                                                                                              : 8;
        for (t.micro_n = least; t.micro_n <= most; t.micro_n *= 2) {
            t.m = static_cast<short>((t.micro_n - form.shifted) * (size == 1 ? 8 : 16 / size));
            f(t);
        }
    }
    template <class F>
    static void each_shifted_along_k(cuda_narrow t, short size, F const& f) {
        int const pairs = (t.n + 15) / 16; // of eights of columns
        t.apart = static_cast<short>(16 / size), t.micro_m = 16;
        t.k = pairs == 1 ? 1024 : pairs == 2 ? 512 : 256;
        for (t.slices = 1; t.slices <= 8 && can_slice(t.n, t.slices); t.slices *= 2) {
            t.m = static_cast<short>(64 / t.slices);
            f(t);
            if (t.slices == 1) t.m = 128, f(t);
        }
    }
};

STRATAGEMM_END
