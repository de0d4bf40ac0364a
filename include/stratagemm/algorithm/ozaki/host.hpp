// `ozaki` over a host leaf that may have a tile unit: a product by residues in one pass, and with vectors
// what there is to be known of the operands before.
//
// Where there is no tile unit at run time, sizes are 0 and functions return false, having found nothing and
// left C as it was.
#pragma once

#include "../../core/leaf.hpp"
#include "host_residues.hpp"
#include "host_survey.hpp"

STRATAGEMM_BEGIN

#if defined(__x86_64__)

namespace ozaki_tiles {

template <tiled_host_leaf Leaf>
class on_host {
public:
    explicit on_host(Leaf leaf) : leaf_(leaf) {}

    // Workspace of multiply(); none if it cannot. An operand may have been packed before.
    std::size_t bytes(index_t m, index_t n, index_t k, int count, bool left_kept = false,
                      bool right_kept = false) const {
        if (!takes(k)) return 0;
        return residue_sizes(m, n, k, count, left_kept, right_kept).bytes(count, team_of(m, n, k, count));
    }
    // An operand packed once, for many products: what it takes (nothing if it cannot be), and how it comes
    // there.
    std::size_t packed_bytes(index_t lines, index_t length, int count) const {
        if (!takes(length)) return 0;
        index_t const plane = residue_sizes::plane_of(lines, residue_sizes::sizes::steps(length));
        return static_cast<std::size_t>(plane * count);
    }
    template <bool Left, class Lines, class System>
    void pack(Lines const& x, view<std::int32_t const> const& shift, int bits, System const& system,
              std::byte* to) const {
        index_t const steps = residue_sizes::sizes::steps(x.length());
        packed_residues const all{{to, divide_up(x.count(), 32), steps},
                                  residue_sizes::plane_of(x.count(), steps)};
        pack_lines<!Left>(residue_source{x, shift, bits, system}, 0, x.count(), all,
                          leaf_.team(8 * product(x.count(), x.length(), system.count())));
    }
    std::size_t crossing_bytes(index_t m, index_t n) const {
        return here() ? ozaki_tiles::crossing_bytes(m, n, team_of_elements(m, n)) : 0;
    }

    // `of` takes what is found of its lines, or of `norms` only exponents and squares; their leading bits go
    // into a plane, if there is one.
    template <class Survey>
    bool survey(Survey const& of, view<std::int8_t> const& leading, bool norms) const {
        return here() &&
               survey_lines(of, leading, norms, team_of_elements(of.line.count(), of.line.length()));
    }
    // After a survey.
    template <class Crossing>
    void cross(Crossing const& lines, view<std::int32_t const> const& q, host_arena& arena) const {
        int team = team_of_elements(q.rows, q.cols);
        while (team > 1 && !arena.fits({ozaki_tiles::crossing_bytes(q.rows, q.cols, team)})) --team;
        cross_lines(lines, q, team, arena);
    }
    template <class Job>
    bool multiply(Job const& job, host_arena& arena) const {
        index_t const m = job.left.count(), n = job.right.count(), k = job.left.length();
        int const count = job.system.count();
        if (!takes(k)) return false;
        residue_sizes const sizes(m, n, k, count, job.left_packed, job.right_packed);
        // The arena was sized earlier; OpenMP may offer more threads by now.
        int team = team_of(m, n, k, count);
        while (team > 0 && !arena.fits({sizes.bytes(count, team)})) --team;
        if (team > 0) multiply_residues(job, sizes, team, arena);
        return team > 0;
    }

    // Seconds of one thread for a product with so many moduli, once its operands have been looked at. Fitted
    // to a machine at 3.6 GHz, whose unit does 7.4e12 operations a second: tile_rate() is 1 there.
    double seconds(index_t m, index_t n, index_t k, int count) const {
        return count * (on_tiles(m, n, k) + elements(m, n, k) * 0.12e-9);
    }
    // And to look at them: what there is to be found of each, and a product of their leading bits.
    double seconds_to_look(index_t m, index_t n, index_t k) const {
        return on_tiles(m, n, k) + elements(m, n, k) * 1.5e-9;
    }
    bool takes(index_t k) const { return here() && k <= longest; }

private:
    bool here() const { return leaf_.has_tiles(); }
    static constexpr index_t longest = index_t{1} << 18; // all of k is packed at once

    static double product(index_t m, index_t n, index_t k) {
        return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    }
    static double elements(index_t m, index_t n, index_t k) {
        return product(m, 1, k) + product(1, n, k) + product(m, n, 1);
    }
    double on_tiles(index_t m, index_t n, index_t k) const {
        return 2 * product(m, n, k) / (4.8e12 * leaf_.tile_rate());
    }
    // No more than there are blocks of C: each takes its own part of A.
    int team_of(index_t m, index_t n, index_t k, int count) const {
        index_t const blocks = divide_up(m, 32) * divide_up(n, 32);
        int const offered = leaf_.team(count * product(m, n, k));
        return blocks < offered ? static_cast<int>(blocks) : offered;
    }
    // To look at an element takes about as long as so many multiply-adds.
    int team_of_elements(index_t rows, index_t cols) const { return leaf_.team(64 * product(rows, cols, 1)); }

    Leaf leaf_;
};

} // namespace ozaki_tiles

#else

namespace ozaki_tiles {
template <tiled_host_leaf Leaf>
class on_host; // there is no tile unit
} // namespace ozaki_tiles

#endif

STRATAGEMM_END
