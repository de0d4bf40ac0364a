// Each thread sums one element of C. For products too small or too oddly shaped to be divided into tiles, and what is
// left where nothing else may run.
#pragma once

#include "../source.hpp"
#include "counts.hpp"
#include "direct.cu.hpp"

STRATAGEMM_BEGIN

struct cuda_direct {
    static constexpr char const* name = "direct";

    friend bool operator==(cuda_direct const&, cuda_direct const&) = default;
    friend auto operator<=>(cuda_direct const&, cuda_direct const&) = default;

    static bool takes(cuda_query const&) { return true; }
    static bool keeps_order(cuda_order const& order, char, cuda_device const&) {
        return !order.on_tensor_cores;
    }

    template <class F>
    static void candidates(cuda_query const& q, F& f);

    std::string describe() const { return name; }

    template <class In, class Out, class, class, class Epilogue>
    cuda_source source(cuda_form const& form, Epilogue const& epilogue) const {
        cuda_definitions d;
        d.only("SPREADS", form.spreads).only("INVARIANT", form.invariant).only("PIECES", form.pieces);
        return cuda_source_of<In, Out>(name, cuda_direct_text, epilogue, d.text());
    }

    template <class Product>
    status launch(Product const& p, cuda_way const& way, cuda_arena&) const {
        cuda_form form;
        form.spreads = p.spreads(), form.invariant = way.invariant, form.pieces = way.piece > 0;
        auto compiled = p.compiled(*this, form, p.epilogue());
        if (!compiled) return compiled.take_status();
        cuda_sides const s = p.sides();
        return p.launch(**compiled, form, (s.m * s.n * s.count - 1) / 128 + 1, 128, p.arguments(way));
    }
};

class cuda_direct_counts : public cuda_counts {
public:
    explicit cuda_direct_counts(cuda_query const& q) {
        cuda_sides const& s = q.sides;
        double const size = real(q.element);
        units = q.device.units, resident = 16;
        multiply_adds = 128, chain = 1;
        // The lines of memory that a block reads at each step: one for each row or column that lies along k.
        double const columns = s.n < 128 ? real(s.n) : 128, rows = 128 / columns + 1;
        gathered = (q.layout.a_along_k ? rows : rows * size / 128 + 1) +
                   (q.layout.b_along_k ? columns : columns * size / 128 + 1);
        moved = (real(s.m) + real(s.n)) * real(s.k * s.count) * size / units *
                (cuda_fitted_bytes_per_cycle / q.device.bytes_per_cycle);
        across = q.layout.a_along_k ? 0 : real(s.m) * real(s.k * s.count) * size / units;
        stored = 128 * real(q.result()), aligned = true;
        finishes(q, 128, 0);
        row = 2 * q.layout.a_along_k + q.layout.b_along_k;
        rounds((s.m * s.n * s.count - 1) / 128 + 1, real(s.k));
    }
};

// Other kernels widen operands, and keep the order of the tensor cores. Where these are needed, direct is what is left.
template <class F>
void cuda_direct::candidates(cuda_query const& q, F& f) {
    cuda_way way;
    way.invariant = q.invariant, way.cycles = 1e300;
    if (q.invariant) way.piece = q.order.piece;
    if (!q.layout.widens() && (!q.invariant || keeps_order(q.order, q.type, q.device))) {
        cuda_tile_costs_of const& row = tile_costs_of(name, q.type);
        way.cycles = cuda_direct_counts(q).cycles(row.costs, static_cast<double>(row.slower[0]), f.least());
    }
    f(cuda_direct{}, way);
}

STRATAGEMM_END
