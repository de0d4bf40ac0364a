// The configuration of the kernel for warpgroups.
#pragma once

#include "../kernels/rows.cu.hpp"
#include "tile.hpp"
#include "wgmma.cu.hpp"

STRATAGEMM_BEGIN

struct cuda_wgmma {
    static constexpr char const* name = "wgmma";
    static constexpr char const* text = cuda_wgmma_text; // of the kernel
    static constexpr bool fetches = true;
    static constexpr bool reads_lines() { return true; }
    static constexpr bool truncates(std::size_t) { return true; }
    static constexpr bool copies_lines(cuda_way const&) { return true; }

    short m = 0, n = 0, k = 0; // of C, and the depth of what is in shared memory at a time: 128 bytes
    short stages = 1;          // of shared memory
    short group = 8;           // rows of tiles that are walked through together
    short cluster = 1;         // blocks below each other, which share the tiles of B that they fetch
    short beside = 1;          // blocks beside each other, which share what is fetched of A
    short parts = 0;           // of k, summed each by itself; 0: as the cost says

    friend bool operator==(cuda_wgmma const&, cuda_wgmma const&) = default;
    friend auto operator<=>(cuda_wgmma const&, cuda_wgmma const&) = default;

    static constexpr char types[] = "hwbts45"; // floats as tf32
    static constexpr bool widens = false;
    static bool takes_type(cuda_device const&, char type) { return std::strchr("hwbt45", type) != nullptr; }
    static bool takes(cuda_query const& q) { return takes_type(q.device, q.type) && !q.layout.widens(); }
    static bool keeps_order(cuda_order const& order, char, cuda_device const&) {
        return order.on_tensor_cores;
    }
    template <class F>
    static void candidates(cuda_query const& q, F& f);
    template <class F>
    void candidates_as_given(cuda_query const& q, F& f) const;

    // Whether three warpgroups multiply, which have fewer registers and less shared memory each than two.
    constexpr bool has_three_groups() const { return m > 128; }
    constexpr int threads() const { return (m / 64 + 1) * 128; }
    std::string describe() const { return describe_tile(*this); }
    // Calls f with each parameter, in the order of other tiles.
    template <class Tile, class F>
    static void each_parameter(Tile& t, F const& f) {
        short micro_m = 1, micro_n = 1;
        f(t.m), f(t.n), f(t.k), f(micro_m), f(micro_n);
        f(t.stages), f(t.group), f(t.cluster), f(t.parts), f(t.beside);
    }

    // Lines of B along k that are fetched at a time: each block of a cluster its part, and hardware takes up to 256.
    constexpr int lines_fetched() const { return n / cluster > 256 ? n / cluster / 2 : n / cluster; }
    // Terms that are fetched at a time of a B that does not lie along k: each block takes some of the boxes of 128 bytes
    // or, if the boxes cannot be divided, some lines of all.
    constexpr int terms_fetched() const { return (n + k - 1) / k % cluster == 0 ? k : k / cluster; }
    // Columns of B that are fetched for a tile: those of a B that does not lie along k as lines of 128 bytes.
    constexpr int columns_fetched(std::size_t element, bool b_along_k) const {
        int const line = 128 / static_cast<int>(element);
        return b_along_k ? n : (n + line - 1) / line * line;
    }
    // Bytes of shared memory for each warp, through which results pass to C. There are four warps to 64 rows. Each of
    // the twelve that a tile of 192 rows has gets half of it, since the stage that then fits makes the tile faster.
    constexpr std::size_t warp_results(std::size_t element) const {
        return has_three_groups() && element < 4 ? 2048 : 4096;
    }
    std::size_t shared_bytes(std::size_t element,
                             bool b_along_k) const { // fetched tiles begin at multiples of 1 KiB
        std::size_t const stage =
            static_cast<std::size_t>((m + columns_fetched(element, b_along_k)) * k) * element;
        return 1024 + static_cast<std::size_t>(m) / 16 * warp_results(element) +
               static_cast<std::size_t>(stages) * (stage + 16);
    }
    bool can_run(cuda_device const& d, std::size_t element, bool b_along_k = true) const {
        if (d.capability != 90) return false;
        // Swizzled lines begin in eights.
        if (b_along_k ? lines_fetched() % 8 != 0 : k / cluster % 8 != 0) return false;
        if (m % (8 * beside) != 0 || k % (8 * beside) != 0) return false;
        if (cluster * beside > 8 || (beside > 1 && element == 4)) return false;
        return shared_bytes(element, b_along_k) <= d.shared_bytes;
    }
    bool is_legal(std::size_t element, std::size_t) const {
        return (m == 64 || m == 128 || (m == 192 && n <= 192)) && n >= 64 &&
               k == static_cast<int>(128 / element) && stages >= 2;
    }

    // What ways there are.
    std::ptrdiff_t terms(std::ptrdiff_t of_k) const { return ((of_k - 1) / k + 1) * k; }
    std::ptrdiff_t least_part() const { return 32; }
    bool may_shift(cuda_query const&, bool) const { return false; }
    bool sums_pieces() const { return n <= 192 && !has_three_groups(); }
    int blocks_with_pieces(int blocks) const { return blocks; }
    bool adds_up_together(std::size_t element) const {
        return element < 4 && !has_three_groups();
    } // registers
    static constexpr bool divides_last_round(std::size_t element) { return element != 4; }

    // The form that the tile takes, if operands lie as given.
    cuda_form taken(std::size_t element, cuda_form given) const {
        bool const turns_b = element == 4 && n % 64 == 0;
        if (element != 2) given.a_along_k = true, given.b_along_k |= !turns_b;
        given.direct = false;
        return given;
    }
    bool takes_along_k(std::size_t element) const { return taken(element, {}).a_along_k; }
    // Floats whose B does not lie along k: C^T is computed, and the sides of a tile change places.
    static bool is_turned(cuda_form const& f, std::size_t element) { return element == 4 && !f.b_along_k; }
    cuda_wgmma lying_on_c(cuda_form const& f, std::size_t element) const {
        cuda_wgmma t = *this;
        if (is_turned(f, element)) std::swap(t.m, t.n);
        return t;
    }
    cuda_form form_taken(cuda_query const& q, cuda_way const&) const {
        return taken(q.element, {.a_along_k = q.layout.a_along_k, .b_along_k = q.layout.b_along_k});
    }
    static constexpr bool gathers_lines(cuda_query const&, cuda_way const&) { return false; }
    static constexpr bool changes_lines(bool, std::size_t) { return false; }
    template <class Product>
    cuda_form form_of(Product const& p, cuda_way const& way) const;

    std::string definitions(cuda_form const& form) const;
    template <class In, class Out, class, class, class Epilogue>
    cuda_source source(cuda_form const& form, Epilogue const& epilogue) const;
    template <class Product, class Arguments, class Epilogue>
    status run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments x,
               Epilogue const& epilogue, cuda_arena& memory) const;
};

template <>
inline constexpr cuda_built_in<cuda_wgmma> cuda_tiles_of<cuda_wgmma>[] = {
    {"hw", {128, 256, 64, 4, 16}, 1},    {"hw", {128, 256, 64, 4, 8, 2}, 1},
    {"hw", {192, 192, 64, 4, 8, 2}, 1},  {"hw", {192, 192, 64, 4}, 1},
    {"hw", {192, 128, 64, 5}, 1},        {"hw", {128, 192, 64, 4}, 1},
    {"hw", {128, 192, 64, 4, 8, 2}, 1},  {"hw", {128, 128, 64, 6, 8, 2}, 1},
    {"hw", {128, 128, 64, 6}, 1},        {"hw", {64, 256, 64, 4}, 1},
    {"hw", {64, 192, 64, 6}, 1},         {"hw", {64, 128, 64, 8}, 1},
    {"hw", {64, 128, 64, 8, 8, 2}, 1},   {"hw", {128, 64, 64, 8}, 1},
    {"hw", {64, 64, 64, 8}, 1},          {"b", {128, 256, 128, 4}, 1},
    {"b", {128, 256, 128, 4, 16, 2}, 1}, {"b", {128, 192, 128, 4}, 1},
    {"b", {128, 128, 128, 6}, 1},        {"b", {64, 128, 128, 8, 8, 2}, 1},
    {"b", {128, 64, 128, 8}, 1},         {"b", {64, 64, 128, 8}, 1},
    {"45", {128, 128, 128, 6}, 1},       {"45", {64, 128, 128, 6, 8, 2}, 1},
    {"45", {128, 64, 128, 6}, 1},        {"45", {64, 64, 128, 6}, 1},
    {"t", {128, 256, 32, 4}, 1},         {"t", {64, 128, 32, 6}, 1},
    {"t", {64, 64, 32, 6}, 1},
};

STRATAGEMM_END
