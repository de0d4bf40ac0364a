// Functions that run when the shared library that holds this code is unloaded. Otherwise its memory and threads would
// stay, and the threads would run code that is gone. A program ends without these functions, since other threads may be
// at work until its end.
#pragma once

#include "../../core/config.hpp"

#ifdef __linux__
#    include <cstdlib>
#    include <semaphore.h>

// The C++ ABI's: what is registered for no library (the last argument) runs at exit(), and not at dlclose().
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept; // NOLINT(bugprone-reserved-identifier)
#endif

STRATAGEMM_BEGIN

#ifdef __linux__
// A static variable: its destructor calls `undo` at dlclose(), and not at exit(), which posts the semaphore before.
struct [[gnu::visibility("hidden")]] unload_hook {
    void (*undo)();
    sem_t* exits =
        static_cast<sem_t*>(std::malloc(sizeof(sem_t))); // stays, since exit() comes after dlclose()

    explicit unload_hook(void (*f)()) : undo(f) {
        if (exits) sem_init(exits, 0, 0);
    }
    unload_hook(unload_hook const&) = delete;
    unload_hook& operator=(unload_hook const&) = delete;
    ~unload_hook() {
        int count = 0;
        if (exits && sem_getvalue(exits, &count) == 0 && count == 0) undo();
    }
    // A function that is registered later runs earlier. arm() comes after the constructor, whose end registers the
    // destructor. The posting function belongs to the C library, which stays.
    bool arm() const {
        auto const post = reinterpret_cast<void (*)()>(sem_post);
        return exits && __cxa_atexit(reinterpret_cast<void (*)(void*)>(post), exits, nullptr) == 0;
    }
};
#endif

template <class Undo>
[[gnu::cold, gnu::visibility("hidden")]] void call_at_unload(Undo const& undo) {
    (void)undo;
#ifdef __linux__
    static unload_hook const hook(undo);
    static bool const is_armed = hook.arm();
    (void)is_armed;
#endif
}

STRATAGEMM_END
