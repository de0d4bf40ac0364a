// Where operands live, and how the run of a contender is timed there.
#pragma once

#include "contender.hpp"

#include <chrono>
#include <functional>
#include <utility>

namespace bench {

using facts = std::vector<std::pair<std::string, std::string>>;

enum class limit { arithmetic, memory }; // what bounds a case

inline double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class machine {
public:
    using runs = std::function<void(long)>; // is told which run it is
    using memory = std::shared_ptr<void>;

    virtual ~machine() = default;
    virtual facts about(std::vector<int> const& threads) = 0;
    virtual std::string rate() const { return "GFLOP/s"; } // what the table gives, or TFLOP/s

    virtual memory allocate(long bytes) = 0;
    virtual void upload(void* to, long at, void const* from, long bytes) = 0; // at: bytes from the beginning
    virtual void download(void* to, void const* from, long at, long bytes) = 0;
    virtual bool is_host() const { return false; }
    virtual long sets(double) const {
        return 1;
    } // how many sets of operands of so many bytes runs take in turn

    // warm_up follows the first run, which took `first` seconds, and gives what one takes by then; sample
    // gives the seconds of one run among as many as it takes for a sample, and may better that estimate.
    virtual double warm_up(runs const&, double first) = 0;
    virtual double sample(runs const&, double& estimate) = 0;
    virtual double queued(runs const&) { return -1; } // seconds of the host for one run, if it only queues it

    virtual double peak(problem const&, limit) { return 0; } // GFLOP/s; 0 where it is not known
};

// Here a sample is one stretch of runs without a wait, and its time includes what is queued.
class device_machine : public machine {
public:
    double warm_up(runs const& run, double) override;
    double sample(runs const& run, double& estimate) override;

protected:
    device_machine(double sample_seconds, long most) : sample_seconds_(sample_seconds), most_(most) {}
    virtual double seconds(runs const&, long times); // of all of them: by default of the host's clock
    virtual void synchronize() = 0;

private:
    double sample_seconds_;
    long most_;
};

std::unique_ptr<machine> make_host_machine(double sample_seconds); // host_machine.cpp
std::unique_ptr<machine> make_cuda_machine(); // peers/cublas.cpp; null where there is no device

// Where the policies of make_emulators() have their operands; with these in emulators.cpp or emulators_cuda.cpp.
std::unique_ptr<machine> make_emulation_machine();

} // namespace bench
