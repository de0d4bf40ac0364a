// A roofline: ./dev roofline. Rates of the library and its peers against the work for a byte, under what the machine can
// do at most. Bytes are counted: each element of A, B and C once, as if a cache held all else. A program of a backend says
// which shapes and types it draws, and how its machine's ceilings are measured:
//
//   --roofline     instead of the cases of the program, with
//   --data=FILE    where to write what was measured; bench/roofline.awk says what the lines are
//
// The other options are those of program.hpp.
#pragma once

#include "peaks.hpp"
#include "program.hpp"

namespace bench {

// What a machine can do at most, measured. Rates are GFLOP/s and GB/s.
struct ceilings {
    struct unit {
        element type;
        std::string name; // what computes it: "AVX2", "tensor cores", ...
        double rate;
    };
    std::vector<unit> units;
    std::vector<memory_level> levels; // the fastest first
};

struct roofline_domain {
    std::vector<element> types;
    std::vector<long> squares; // n x n x n
    std::vector<long> rows;    // m x side x side
    std::vector<long> sums;    // side x side x k
    long side;
    std::vector<int> threads = {0};
    std::function<ceilings(int threads)> measure; // called once the arena is open
};

std::vector<std::string> roofline_options(std::vector<std::string> more = {}); // for parse()
inline bool asks_for_roofline(options const& o) { return o.has("roofline"); }

std::vector<bench_case> roofline_cases(roofline_domain const&);

// As run() of program.hpp; the first field of the arena races, without what is shown for information.
int run_roofline(std::string const& backend, options const&, roofline_domain const&,
                 std::function<arena()> const& open);

} // namespace bench
