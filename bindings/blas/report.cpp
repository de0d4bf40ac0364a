#include "report.hpp"

#include "call.hpp"

namespace stratagemm_blas {

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
    return beneath_.get([&] { return find_beneath(counts_.name(), integers_); });
}

} // namespace stratagemm_blas
