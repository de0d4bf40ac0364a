// Many small products in one launch, several to a block, each of which is in shared memory as a whole.
#pragma once

#include "../kernels/copies.cu.hpp"
#include "../source.hpp"
#include "counts.hpp"
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
        return is_batch_of_small(q.sides) && !q.layout.widens() &&
               (!q.invariant || keeps_order(q.order, q.type, q.device));
    }
    static bool keeps_order(cuda_order const& order, char, cuda_device const&) {
        return !order.on_tensor_cores;
    }

    // No other engine is asked: none has a block multiply several products.
    template <class F>
    static void candidates(cuda_query const& q, F& f);

    // Calls f with the blocks that a kernel may have.
    template <class F>
    static void each_block(cuda_sides const& s, std::size_t element, F const& f) {
        cuda_small t{static_cast<short>(s.m), static_cast<short>(s.n), static_cast<short>(s.k)};
        // The bytes include gaps in shared memory, of which a block has 48 KB.
        std::size_t const bytes = static_cast<std::size_t>((s.m + s.n) * s.k) * element * 9 / 8 + 32;
        auto const fits = [&](int some) { return static_cast<std::size_t>(some) * bytes <= 48 * 1024; };
        for (t.micro_n = 1; t.micro_n <= 4 && t.micro_n < 2 * s.n; t.micro_n *= 2)
            for (short most = 1; most <= (element < 16 ? 8 : 4) && most < 2 * s.m; most *= 2) {
                auto const along_m = static_cast<short>((s.m - 1) / most + 1); // threads
                t.micro_m = static_cast<short>((s.m - 1) / along_m + 1);
                for (t.products = 1; fits(t.products) && t.threads() <= 512; t.products *= 2)
                    if (t.threads() >= 32 || !fits(2 * t.products))
                        for (t.stages = 1; t.stages <= 3 && fits(t.products * t.stages); ++t.stages) f(t);
            }
    }
    // Calls f with each parameter, as files of measurements keep them.
    template <class Engine, class F>
    static void each_parameter(Engine& t, F const& f) {
        for (auto* const x : {&t.m, &t.n, &t.k, &t.micro_m, &t.micro_n, &t.products, &t.stages}) f(*x);
    }
    // The place of its factor in the table of costs.
    int number() const { return stages - 1; }

    int threads() const { return ((m - 1) / micro_m + 1) * ((n - 1) / micro_n + 1) * products; }

    std::string describe() const {
        return std::string(name) + ", " + std::to_string(products) + " products to a block of " +
               std::to_string(threads()) + " threads";
    }

    template <class In, class Out, class, class, class Epilogue>
    cuda_source source(cuda_form const& form, Epilogue const& epilogue) const {
        cuda_definitions d;
        d("DENSE", form.dense)("SIDE_M", m)("SIDE_N", n)("SIDE_K", k)("PRODUCTS", products);
        d.tile(*this, stages, products).form(form);
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

class cuda_small_counts : public cuda_counts {
public:
    cuda_small_counts(cuda_query const& q, cuda_small const& t) {
        cuda_sides const& s = q.sides;
        double const size = real(q.element), of_product = real((s.m + s.n) * s.k),
                     of_threads = up(t.threads(), 32) * 32 * real(s.k);
        std::ptrdiff_t const groups = (s.count - 1) / t.products + 1;
        bool const whole = static_cast<std::size_t>(s.m * s.k * t.products) * q.element % 16 == 0 &&
                           static_cast<std::size_t>(s.n * s.k * t.products) * q.element % 16 == 0;
        units = q.device.units, resident = blocks_of(q, t);
        multiply_adds = of_threads * t.micro_m * t.micro_n;
        loads = of_threads * (t.micro_m + t.micro_n);
        chain = real(s.k) * t.micro_m * t.micro_n;
        fetched = of_product * t.products * size;
        if (!whole) gathered = of_product * t.products;
        stages = t.stages, gathers = !whole;
        moved = (of_product * size + real(s.m * s.n) * real(q.result())) * real(s.count) / units *
                (cuda_fitted_bytes_per_cycle / q.device.bytes_per_cycle);
        stored = real(s.m * s.n * t.products) * real(q.result());
        aligned = s.n % t.micro_n == 0 && static_cast<std::size_t>(s.n) * q.result() % 16 == 0;
        rounds(groups, 1);
        // Blocks that stay take one group after another as steps.
        bool const stay = t.stages > 1 && full_rounds > 1;
        if (stay) full_rounds = 1;
        finishes(q, stay ? 0 : real(s.m * s.n * t.products), stay ? real(s.m * s.n * s.count) : 0);
    }

private:
    // Blocks that a multiprocessor has room for, as RESIDENT in small.cu.hpp.
    static int blocks_of(cuda_query const& q, cuda_small const& t) {
        int const registers =
                      48 + 2 * t.micro_m * t.micro_n * (q.element < 4 ? 1 : static_cast<int>(q.element / 4)),
                  by_registers = 512 / (registers < 64 ? 64 : registers) * 4 / ((t.threads() + 31) / 32);
        auto const bytes =
            static_cast<std::size_t>((t.m + t.n) * t.k * t.products * t.stages) * q.element * 9 / 8;
        auto const by_memory = static_cast<int>(q.device.shared_bytes / (bytes + 1024));
        int const blocks = by_registers < by_memory ? by_registers : by_memory;
        return blocks < 1 ? 1 : blocks > 16 ? 16 : blocks;
    }
};

template <class F>
void cuda_small::candidates(cuda_query const& q, F& f) {
    cuda_tile_costs_of const& row = tile_costs_of(name, q.type);
    cuda_way way;
    way.invariant = q.invariant;
    if (q.invariant) way.piece = q.order.piece;
    each_block(q.sides, q.element, [&](cuda_small const& t) {
        way.cycles =
            cuda_small_counts(q, t).cycles(row.costs, static_cast<double>(row.slower[t.number()]), f.least());
        f(t, way);
    });
}

STRATAGEMM_END
