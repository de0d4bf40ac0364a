#include "counts.hpp"

#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <unistd.h>

namespace stratagemm_bindings {
namespace {

call_counts* called = nullptr; // atomic
report wanted{};               // without a library: none is wanted

} // namespace

std::int64_t call_counts::now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * std::int64_t{1000000000} + t.tv_nsec;
}

void call_counts::list() {
    if (__atomic_exchange_n(&is_listed_, true, __ATOMIC_RELAXED)) return;
    next_ = __atomic_load_n(&called, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&called, &next_, this, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
}

void call_counts::add_left() {
    list();
    __atomic_add_fetch(&left_, 1, __ATOMIC_RELAXED);
}

void call_counts::add_done(double flops, std::int64_t nanoseconds) {
    list();
    __atomic_add_fetch(&calls_, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&nanoseconds_, nanoseconds, __ATOMIC_RELAXED);
    double before = flops_, after = 0;
    do after = before + flops;
    while (!__atomic_compare_exchange(&flops_, &before, &after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

void call_counts::begin(report const& r) {
    wanted = r;
    pthread_atfork(nullptr, nullptr, [] {
        for (call_counts* s = called; s; s = s->next_)
            s->calls_ = s->left_ = s->nanoseconds_ = 0, s->flops_ = 0;
    });
}

// In one piece: of a program of several processes, all print to one place.
void call_counts::print(report const& r) {
    char* text = nullptr;
    std::size_t size = 0;
    if (std::FILE* const out = open_memstream(&text, &size)) {
        write(r, out);
        std::fclose(out);
        std::fwrite(text, 1, size, stderr);
        std::free(text);
    }
    if (r.print_more) r.print_more();
}

void call_counts::write(report const& r, std::FILE* out) {
    bool const works = r.what == timed::work;
    int const width = works ? 24 : 30; // of the longest names
    std::fprintf(out, "%s: process %ld, policy %s\n%-*s %12s %12s %10s %10s\n", r.library,
                 static_cast<long>(getpid()), r.policy, width, "routine", "calls", "left beneath",
                 works ? "seconds" : "us a call", works ? "GFLOP/s" : "GFLOP");
    for (call_counts const* s = __atomic_load_n(&called, __ATOMIC_ACQUIRE); s; s = s->next_) {
        double const seconds = static_cast<double>(s->nanoseconds_) * 1e-9, work = s->flops_ * 1e-9;
        double const each = s->calls_ > 0 ? seconds * 1e6 / static_cast<double>(s->calls_) : 0;
        std::fprintf(out, "%-*s %12lld %12lld %10.3f %10.1f\n", width, s->name_,
                     static_cast<long long>(s->calls_), static_cast<long long>(s->left_),
                     works ? seconds : each,
                     !works        ? work
                     : seconds > 0 ? work / seconds
                                   : 0.0);
    }
}

[[gnu::destructor]] static void print_at_end() {
    if (wanted.library) call_counts::print(wanted);
}

} // namespace stratagemm_bindings
