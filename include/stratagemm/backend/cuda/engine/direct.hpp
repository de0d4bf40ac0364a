// Each thread sums one element of C. For products too small or too oddly shaped to be divided into tiles, and what is
// left where nothing else may run.
#pragma once

#include "../source.hpp"
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
    static void candidates(cuda_query const& q, F& f) {
        cuda_way way;
        way.invariant = q.invariant, way.cycles = cycles(q);
        if (q.invariant) way.piece = q.order.piece;
        f(cuda_direct{}, way);
    }

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

private:
    // Other kernels widen operands, and keep the order of the tensor cores.
    static double cycles(cuda_query const& q) {
        if (q.layout.widens() || (q.invariant && !keeps_order(q.order, q.type, q.device))) return 1e300;
        double const elements = static_cast<double>(q.sides.m) * static_cast<double>(q.sides.n);
        return 5300 + (q.work() + 5 * elements) * static_cast<double>(q.sides.count) / (4 * q.device.units) +
               120 * static_cast<double>(q.sides.k);
    }
};

STRATAGEMM_END
