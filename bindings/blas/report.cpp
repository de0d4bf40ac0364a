#include "report.hpp"

#include "call.hpp"

namespace stratagemm_blas {
namespace {

bool is_wanted = false;

} // namespace

void symbol::check_width() {
    if (integers_ != width::in_name)
        if (std::string const other = other_width(integers_); !other.empty())
            give_up((std::string("the integers of ") + counts_.name() + " have " +
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
        __atomic_store_n(&beneath_, find_beneath(counts_.name(), integers_), __ATOMIC_RELAXED);
        __atomic_store_n(&is_searched_, true, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(&beneath_, __ATOMIC_RELAXED);
}

void begin_report() {
    is_wanted = true;
    stratagemm_bindings::call_counts::begin();
}

[[gnu::destructor]] void print_report() {
    if (is_wanted)
        stratagemm_bindings::call_counts::print("stratagemm-blas", environment().policy_name,
                                                stratagemm_bindings::timed::work);
}

} // namespace stratagemm_blas
