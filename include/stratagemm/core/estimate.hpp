// What policies model their speed with, for estimate(S): seconds, from a shape and a few rough numbers about a
// machine.
//
// An estimate is for comparing one way to a result with another; it is off by a factor of two now and then, on the host
// less often. It is the same for the same shape on the same machine, and never measured within a call.
#pragma once

#include "types.hpp"

STRATAGEMM_BEGIN

// The multiply-adds of all products of a shape, and the bytes of their operands.
template <class S>
double multiply_adds(S const& s) {
    return static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) *
           static_cast<double>(s.count);
}
template <class S>
double operand_bytes(S const& s) {
    auto const m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
    return (m * k * sizeof(typename S::a_type) + k * n * sizeof(typename S::b_type) +
            (s.adds ? 2 : 1) * m * n * sizeof(typename S::c_type)) *
           static_cast<double>(s.count);
}
// Seconds: whichever takes longer, the work at `rate` operations a second or the operands at `bandwidth` bytes a
// second; and a launch.
template <class S>
double roofline(S const& s, double rate, double bandwidth, double launch) {
    double const work = (complex_like<typename S::a_type> ? 8 : 2) * multiply_adds(s) / rate,
                 traffic = operand_bytes(s) / bandwidth;
    return (work > traffic ? work : traffic) + launch;
}
// The shape that a layer asks its base's estimate about to choose by: one thread, however operands lie. So the choice,
// and with it the bits of a result, is the same for any number of threads, and what was planned is what runs.
template <class S>
S to_choose_by(S s) {
    s.alone = true, s.a_across = s.b_across = false;
    return s;
}

STRATAGEMM_END
