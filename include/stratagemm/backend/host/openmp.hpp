// What OpenMP says of threads, and its parallel regions. A program that is compiled with OpenMP has a runtime of it. One
// that is compiled with STRATAGEMM_THREADS instead is linked with none: it uses the runtime that the process happens to
// have among its global names, such as that of the program into which a library is loaded, and otherwise what the system
// says.
#pragma once

#include "../../core/config.hpp"

#if defined(_OPENMP) || defined(STRATAGEMM_THREADS)
#    include <cstdlib>
#    include <dlfcn.h>
#    include <sched.h>
#    include <unistd.h>
#    ifdef _OPENMP
#        include <omp.h>
#    endif
#endif

STRATAGEMM_BEGIN

// Whether this program may have a team of threads. Otherwise code for teams is not compiled.
#if defined(_OPENMP) || defined(STRATAGEMM_THREADS)
inline constexpr bool host_has_teams = true;
#else
inline constexpr bool host_has_teams = false;
#endif

#if defined(_OPENMP)

struct host_openmp {
    static constexpr bool is_there() { return true; }
    static int most_threads() { return omp_get_max_threads(); }
    static int limit() { return omp_get_thread_limit(); }
    static int processors() { return omp_get_num_procs(); }
    static bool is_in_region() { return omp_in_parallel() != 0; }
    static bool binds_threads() { return omp_get_proc_bind() != omp_proc_bind_false; }
    static void const* place() { return reinterpret_cast<void const*>(&omp_get_max_threads); }
    // Calls f(thread) by up to `team` threads at the same time.
    template <class F>
    static void region(int team, F const& f) {
#    pragma omp parallel num_threads(team)
        f(omp_get_thread_num());
    }
};

#elif defined(STRATAGEMM_THREADS)

// The first number of OMP_NUM_THREADS; 0: there is none.
inline int threads_of_environment(char const* text) {
    long const asked = text ? std::strtol(text, nullptr, 10) : 0;
    return asked > 0 && asked < 1 << 16 ? static_cast<int>(asked) : 0;
}
// The processors that this thread may run on.
inline int processors_of_thread() {
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof(own), &own) == 0) return CPU_COUNT(&own);
    long const all = sysconf(_SC_NPROCESSORS_ONLN); // more than the set has room for
    return all > 0 ? static_cast<int>(all) : 1;
}

#    pragma GCC visibility push(hidden)
class host_openmp {
    // Functions of OpenMP; what a parallel region compiles to is one of each runtime that programs of g++ can have.
    struct functions {
        int (*max_threads)() = nullptr, (*thread_limit)() = nullptr, (*num_procs)() = nullptr,
            (*in_parallel)() = nullptr, (*proc_bind)() = nullptr, (*thread_num)() = nullptr;
        void (*parallel)(void (*f)(void*), void* of, unsigned team, unsigned flags) = nullptr;
        bool are_there = true;

        functions() {
            auto const find = [&]<class Function>(Function*& f, char const* name) {
                f = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
                are_there &= f != nullptr;
            };
            find(max_threads, "omp_get_max_threads"), find(thread_limit, "omp_get_thread_limit");
            find(num_procs, "omp_get_num_procs"), find(in_parallel, "omp_in_parallel");
            find(proc_bind, "omp_get_proc_bind"), find(thread_num, "omp_get_thread_num");
            find(parallel, "GOMP_parallel");
        }
    };
    static functions const& all() {
        static functions const found;
        return found;
    }

public:
    static bool is_there() { return all().are_there; }
    static int most_threads() {
        if (is_there()) return all().max_threads();
        static int const asked = threads_of_environment(std::getenv("OMP_NUM_THREADS"));
        return asked > 0 ? asked : processors_of_thread();
    }
    static int limit() { return is_there() ? all().thread_limit() : 1 << 16; }
    static int processors() { return is_there() ? all().num_procs() : processors_of_thread(); }
    static bool is_in_region() { return is_there() && all().in_parallel() != 0; }
    static bool binds_threads() { return is_there() && all().proc_bind() != 0; }
    static void const* place() { return reinterpret_cast<void const*>(all().max_threads); }
    template <class F>
    static void region(int team, F const& f) {
        all().parallel([](void* of) { (*static_cast<F const*>(of))(all().thread_num()); }, const_cast<F*>(&f),
                       static_cast<unsigned>(team), 0);
    }
};
#    pragma GCC visibility pop

#endif

STRATAGEMM_END
