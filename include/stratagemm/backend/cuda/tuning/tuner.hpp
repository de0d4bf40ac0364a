// The tiles that tuning (device/tuning.hpp) tries: those whose kernels can be compiled and fit.
#pragma once

#include "../../../device/tuning.hpp"
#include "../choice.hpp"

STRATAGEMM_BEGIN

using cuda_tuning_options = tuning_options<cuda_configuration>;
using cuda_tuned = tuned<cuda_configuration>;

// `type` is the letter of the operands, or t. Points of the search are what values_of() gives; a parameter that an
// engine does not have has one value.
inline search_problem cuda_candidates(cuda_device const& d, char type, std::size_t element,
                                      std::size_t scalar, cuda_sides const& s) {
    search_problem p;
    std::vector<short> const micro = {1, 2, 4, 8, 12, 16, 32, 64};
    p.values = {{},
                {16, 32, 64, 128, 256},
                {16, 32, 64, 128, 192, 256},
                {8, 16, 32, 64, 128},
                micro,
                micro,
                {2, 3, 4, 5, 6, 8},
                {1, 4, 8, 16},
                {1, 2},
                {1, 2, 3, 4, 6, 8, 12, 16, 32},
                {1, 2}};
    cuda_configuration::for_each([&]<class Tile>(Tile const&) {
        if constexpr (has_tiles<Tile>) {
            if (!Tile::takes_type(d, type)) return;
            bool can_run = false;
            for (auto const& e : cuda_tiles_of<Tile>)
                if (std::strchr(e.types, type) && e.tile.can_run(d, element)) {
                    Tile t = e.tile;
                    t.parts = 1, can_run = true;
                    p.known.push_back(values_of(cuda_configuration(t)));
                }
            if (can_run) p.values[0].push_back(p.known.back()[0]);
        }
    });
    p.legal = [d, type, element, scalar, s](search_point const& x) {
        cuda_configuration const c = cuda_configuration::of(x);
        return values_of(c) == x && c.visit([&]<class Tile>(Tile const& t) {
            if constexpr (has_tiles<Tile>) {
                bool const deep = t.parts == 1 || s.k >= std::ptrdiff_t{4} * t.k * t.parts;
                return deep && Tile::takes_type(d, type) && t.can_run(d, element) &&
                       t.is_legal(element, scalar);
            }
            return false;
        });
    };
    return p;
}

STRATAGEMM_END
