// operator new whose n-th call from a thread fails: for programs of one source file, which replaces it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace failing {

// While armed, allocations of this thread are counted down, and one fails when there are none left; with one_alone
// those after it succeed. Pauses are for libraries in the same process: a driver need not outlive such a failure.
inline thread_local bool armed = false, one_alone = false, has_failed = false;
inline thread_local long until_failure = 0;
inline thread_local long blocks = 0; // allocated less freed, by this thread while armed

struct unarmed {
    bool const before = armed;
    unarmed() { armed = false; }
    unarmed(unarmed const&) = delete;
    unarmed& operator=(unarmed const&) = delete;
    ~unarmed() { armed = before; }
};

inline bool fails() {
    if (!armed || until_failure-- > 0 || (one_alone && has_failed)) return false;
    return has_failed = true;
}
inline void* allocate(std::size_t bytes, std::size_t align) {
    if (fails()) return nullptr;
    blocks += armed;
    if (align <= alignof(std::max_align_t)) return std::malloc(bytes ? bytes : 1);
    return std::aligned_alloc(align, (bytes + align - 1) / align * align);
}
inline void* allocate_or_throw(std::size_t bytes, std::size_t align) {
    if (void* const p = allocate(bytes, align)) return p;
    throw std::bad_alloc();
}
inline void free(void* p) {
    blocks -= armed && p;
    std::free(p);
}

} // namespace failing

void* operator new(std::size_t n) { return failing::allocate_or_throw(n, 1); }
void* operator new[](std::size_t n) { return failing::allocate_or_throw(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) {
    return failing::allocate_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, std::nothrow_t const&) noexcept { return failing::allocate(n, 1); }
void* operator new[](std::size_t n, std::nothrow_t const&) noexcept { return failing::allocate(n, 1); }
void* operator new(std::size_t n, std::align_val_t a, std::nothrow_t const&) noexcept {
    return failing::allocate(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { failing::free(p); }
void operator delete[](void* p) noexcept { failing::free(p); }
void operator delete(void* p, std::size_t) noexcept { failing::free(p); }
void operator delete[](void* p, std::size_t) noexcept { failing::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { failing::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { failing::free(p); }
void operator delete(void* p, std::nothrow_t const&) noexcept { failing::free(p); }
