// One case: every contender on the same operands, in rounds (A B C, A B C, ...), so that a change of the
// clock or a noisy neighbour meets them all alike. All samples are kept; ratios are taken within a round.
#pragma once

#include "machine.hpp"
#include "median.hpp"

#include <limits>
#include <map>

namespace bench {

struct lane {
    std::string name;
    role part;
    std::vector<double> rates; // GFLOP/s, one sample a round
    long workspace = -1;       // in bytes, where the contender tells; likewise the next three
    std::string ran;
    double error =
        -1; // max |dC| / (|A||B|); unless rules::errors are asked for, of C times a vector of signs
    guarantee bound;
    double queued = -1;    // seconds of the host for a run of a device
    double predicted = -1; // seconds of a run, where the contender tells
};

// What a program may ask of its races.
struct rules {
    double patience = std::numeric_limits<double>::infinity(); // seconds that one product may take
    // Measure errors, on data whose exponents are spread, instead of refusing a result that is too far off;
    // on the host leave out, of long cases, what takes three times as long as the first, and take the rate of the
    // tile unit before each round. On a device errors are those of some elements, and peers that are shown for
    // information race in every round.
    bool errors = false;
    // Run every other round backwards: short samples of two contenders fall into step with the scheduler.
    bool alternate = false;
    // Many short cases: neither the peak nor the host's time for a run is taken, and the library's result is compared
    // with that of a peer. Where they differ most, it has to be within its bound of the exact sum.
    bool sweep = false;
};

class race {
public:
    race(problem const&, limit, std::vector<contender*> const&, machine&, rules const&);
    ~race();

    double round(); // the seconds of one product of the library
    void finish();  // after the last round: what is asked of contenders once

    std::vector<lane> const& lanes() const { return lanes_; }
    std::vector<double> const& roof() const { return roof_; } // the peak for this case, in each round
    std::vector<double> const& pace() const { return pace_; } // the tile unit's rate for one thread
    std::vector<std::string> const& left_out() const { return left_out_; } // and why

private:
    struct data;
    template <class In, class Out>
    struct typed_data;
    struct place;
    struct racer {
        contender* who;
        place* at;
        double seconds; // of one product
    };

    place& place_of(contender&);
    machine::runs runs_of(racer const&) const;
    std::string try_out(racer&, lane&, double limit);
    void compare();

    problem problem_;
    limit limit_;
    machine& on_;
    rules rules_;
    std::unique_ptr<data> data_;
    std::vector<std::unique_ptr<place>> places_;
    std::vector<racer> racers_;
    std::vector<lane> lanes_; // of racers_
    std::vector<double> roof_, pace_;
    std::vector<std::string> left_out_;
};

} // namespace bench
