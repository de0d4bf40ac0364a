#include "report.hpp"

#include "call.hpp"

#include <cstdio>
#include <ctime>
#include <pthread.h>
#include <unistd.h>

namespace stratagemm_blas {
namespace {

symbol* called = nullptr; // atomic
bool is_wanted = false;

} // namespace

std::int64_t counted_call::now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * std::int64_t{1000000000} + t.tv_nsec;
}

void symbol::check_width() {
    if (integers_ != width::in_name)
        if (std::string const other = other_width(integers_); !other.empty())
            give_up((std::string("the integers of ") + name_ + " have " +
                     (integers_ == width::wide ? "64 bits here, and 32 bits in "
                                               : "32 bits here, and 64 bits in ") +
                     other + ": preload " +
                     (integers_ == width::wide ? "libstratagemm-blas.so" : "libstratagemm-blas64.so") +
                     " instead")
                        .c_str());
    __atomic_store_n(&is_checked_, true, __ATOMIC_RELAXED);
}

void* symbol::address_beneath() {
    if (!__atomic_load_n(&is_searched_, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&beneath_, find_beneath(name_, integers_), __ATOMIC_RELAXED);
        __atomic_store_n(&is_searched_, true, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(&beneath_, __ATOMIC_RELAXED);
}

void symbol::add(double flops, std::int64_t nanoseconds, bool is_left) {
    if (!__atomic_exchange_n(&is_listed_, true, __ATOMIC_RELAXED)) {
        next_ = __atomic_load_n(&called, __ATOMIC_RELAXED);
        while (
            !__atomic_compare_exchange_n(&called, &next_, this, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        }
    }
    __atomic_add_fetch(is_left ? &left_ : &calls_, 1, __ATOMIC_RELAXED);
    if (is_left) return;
    __atomic_add_fetch(&nanoseconds_, nanoseconds, __ATOMIC_RELAXED);
    double before = flops_, after = 0;
    do after = before + flops;
    while (!__atomic_compare_exchange(&flops_, &before, &after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

void begin_report() {
    is_wanted = true;
    pthread_atfork(nullptr, nullptr, [] {
        for (symbol* s = called; s; s = s->next_) s->calls_ = s->left_ = s->nanoseconds_ = 0, s->flops_ = 0;
    });
}

[[gnu::destructor]] void print_report() {
    if (!is_wanted) return;
    std::fprintf(stderr, "stratagemm-blas: process %ld, policy %s\n%-24s %12s %12s %10s %10s\n",
                 static_cast<long>(getpid()), environment().policy_name, "routine", "calls", "left beneath",
                 "seconds", "GFLOP/s");
    for (symbol const* s = __atomic_load_n(&called, __ATOMIC_ACQUIRE); s; s = s->next_) {
        double const seconds = static_cast<double>(s->nanoseconds_) * 1e-9;
        std::fprintf(stderr, "%-24s %12lld %12lld %10.3f %10.1f\n", s->name_,
                     static_cast<long long>(s->calls_), static_cast<long long>(s->left_), seconds,
                     seconds > 0 ? s->flops_ / seconds * 1e-9 : 0.0);
    }
}

} // namespace stratagemm_blas
