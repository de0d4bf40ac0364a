// A name that this library exports: who does its calls, and how many there were.
#pragma once

#include "../beneath.hpp"
#include "../counts.hpp"
#include "beneath.hpp"
#include "settings.hpp"

namespace stratagemm_blas {

class symbol {
public:
    constexpr symbol(char const* name, width integers) : counts_(name), integers_(integers) {}
    symbol(symbol const&) = delete;

    // The function beneath, if a call of so many flops is left to that; else null.
    template <class Function>
    Function* beneath(double flops) {
        if (!__atomic_load_n(&is_checked_, __ATOMIC_RELAXED)) check_width();
        double const smallest = environment().smallest;
        if (smallest == 0 || flops >= smallest) return nullptr;
        return reinterpret_cast<Function*>(address_beneath());
    }

private:
    friend class counted_call;
    // Ends a program whose integers have another width.
    [[gnu::cold, gnu::noinline]] void check_width();
    [[gnu::cold, gnu::noinline]] void* address_beneath();

    stratagemm_bindings::call_counts counts_;
    width integers_;
    stratagemm_bindings::found_once beneath_;
    bool is_checked_ = false; // atomic
};

// Counts a call while it lives, if the report is wanted.
class counted_call {
public:
    counted_call(symbol& s, double flops, bool is_left)
        : counts_(s.counts_), flops_(flops), begin_(environment().reports ? counts_.now() : 0),
          is_left_(is_left) {}
    counted_call(counted_call const&) = delete;
    ~counted_call() {
        if (begin_ == 0) return;
        if (is_left_)
            counts_.add_left();
        else
            counts_.add_done(flops_, counts_.now() - begin_);
    }

private:
    stratagemm_bindings::call_counts& counts_;
    double flops_;
    std::int64_t begin_;
    bool is_left_;
};

} // namespace stratagemm_blas
