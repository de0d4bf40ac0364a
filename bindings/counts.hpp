// How often the functions of a library were called, and what they did: one report when the program ends.
#pragma once

#include <cstdint>
#include <cstdio>

namespace stratagemm_bindings {

// Whether a call returns when its work is done, or when that is queued.
enum class timed : unsigned char { work, queueing };

struct report {
    char const *library, *policy;
    timed what;
    void (*print_more)() = nullptr;
};

// The calls of one function. Threads may add to it at once. An object is static: the list of those that were called
// holds it for ever.
class call_counts {
public:
    explicit constexpr call_counts(char const* name) : name_(name) {}
    call_counts(call_counts const&) = delete;

    char const* name() const { return name_; }
    // Counts calls that were done here, and those that were left to the library beneath.
    void add_done(double flops, std::int64_t nanoseconds);
    void add_left();

    static std::int64_t now();
    // From now on the program prints, when it ends, what was called. A child of fork() counts its own calls.
    static void begin(report const& r);
    // The head of the report, a line for each function that was called, and lines of the library's own.
    static void print(report const& r);

private:
    void list();
    static void write(report const& r, std::FILE* out);

    char const* name_;
    bool is_listed_ = false; // atomic, as all below
    std::int64_t calls_ = 0, left_ = 0, nanoseconds_ = 0;
    double flops_ = 0;
    call_counts* next_ = nullptr; // of those that were called
};

} // namespace stratagemm_bindings
