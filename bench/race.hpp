// One case: every contender on the same operands, in rounds (A B C, A B C, ...), so that a change of the clock or
// a noisy neighbour meets them all alike. All samples are kept; ratios are taken within a round.
#pragma once

#include "contender.hpp"

#include <memory>
#include <string>
#include <vector>

namespace bench {

enum class limit { arithmetic, memory }; // what bounds the case

struct lane {
    std::string name;
    role part;
    std::vector<double> gflops; // one sample a round; empty if the result was wrong
    long workspace = -1;        // in bytes, where the contender tells
};

double median(std::vector<double>);

class race {
public:
    race(problem, limit, std::vector<contender*> const&, double sample_seconds);
    ~race();

    void round();

    std::vector<lane> const& lanes() const { return lanes_; }
    std::vector<double> const& roof() const {
        return roof_;
    } // the peak for this case, measured in each round
    std::vector<std::string> const& wrong() const { return wrong_; }

private:
    struct workspace;

    void first_run();
    double sample(std::size_t i);
    double roof_now() const;

    problem problem_;
    limit limit_;
    double sample_seconds_;
    std::vector<contender*> contenders_;
    std::vector<double> seconds_; // of one product, from the first run: how many make a sample
    std::vector<lane> lanes_;
    std::vector<double> roof_;
    std::vector<std::string> wrong_;
    std::unique_ptr<workspace> workspace_;
};

} // namespace bench
