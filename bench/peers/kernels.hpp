// Peers that are source code and want -O3 -march=...: they are compiled in translation units of their own and
// reached through these tables only. No std:: type crosses, or an inline function compiled for another machine
// could end up in the rest of the program.
#pragma once

namespace bench {

struct eigen_table {
    void (*set_threads)(int);
    void (*f32)(long m, long n, long k, float const* a, bool ta, float const* b, bool tb, float* c);
    void (*f64)(long m, long n, long k, double const* a, bool ta, double const* b, bool tb, double* c);
    void (*batch)(long n, long count, float const* a, float const* b, float* c); // n x n, back to back
    int version[3];
};
extern eigen_table const eigen_native, eigen_plain;

// A triple loop with n known to the compiler; null for an n it was not written for.
using inlined_kernel = void (*)(long count, float const* a, float const* b, float* c);
extern inlined_kernel const inlined_4, inlined_8, inlined_16, inlined_32;

// What the -march=... of those units asks of the machine.
extern bool const native_needs_avx2, native_needs_avx512;

} // namespace bench
