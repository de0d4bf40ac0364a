// A name that this library exports: who does its calls, and how many there were.
#pragma once

#include "../beneath.hpp"
#include "../counts.hpp"
#include "beneath.hpp"
#include "call.hpp"

namespace stratagemm_cublas {

// The lines of the report that say why calls were left beneath.
void print_left();

class symbol {
public:
    explicit constexpr symbol(char const* name) : counts_(name) {}

    // One call. `here` answers for it; `there(f)` has f, the function beneath, do it. The status is cuBLAS's.
    template <class Function, class Here, class There>
    int call(double flops, Here const& here, There const& there) {
        auto* const f = reinterpret_cast<Function*>(beneath());
        if (is_inside) return f ? there(f) : not_initialized; // cuBLAS calls itself
        std::int64_t const begin = begin_of(flops);
        answer const a = begin == below ? answer{reason::small} : here();
        count(a, flops, begin);
        if (a.failed) return execution_failed;
        if (a.why == reason::none) return success;
        if (!f) return not_initialized;
        is_inside = true;
        int const status = there(f);
        is_inside = false;
        return status;
    }

private:
    static constexpr std::int64_t below = -1;
    // When the call began, where the report wants to know it; `below`: it has too few flops.
    static std::int64_t begin_of(double flops);
    void count(answer const& a, double flops, std::int64_t begin);
    void* beneath() {
        return beneath_.get([&] { return find_beneath(counts_.name()); });
    }

    static thread_local bool is_inside;
    stratagemm_bindings::call_counts counts_;
    stratagemm_bindings::found_once beneath_;
};

} // namespace stratagemm_cublas
