// The threads that share a product.
//
// host_each(team, count, f) calls f(thread, x) once for each part x < count. The caller takes parts from a counter, and
// so do threads of a pool that come while there are parts. Nobody waits for a thread that has not begun: where other
// programs keep the processors busy, a thread that comes late finds nothing to do. A caller that waits for the last
// parts of other threads sleeps soon, so that these threads get its processor.
//
// OpenMP says how many threads there are, or the system, if there is no OpenMP (openmp.hpp). OpenMP's threads are used
// where the program keeps them busy, or binds them to processors (host_pool::run_region). A child of fork() starts new
// threads.
//
// The pool measures time, to learn whether threads come. The times choose the threads that do the parts, and never
// change what the parts compute: the bits of a result do not depend on time.
#pragma once

#include "../../core/config.hpp"
#include "openmp.hpp"
#include "unload.hpp"

#if defined(_OPENMP) || defined(STRATAGEMM_THREADS)
#    include <cstdio>
#    include <cstdlib>
#    include <cstring>
#    include <dlfcn.h>
#    include <new>
#    include <pthread.h>
#    include <sched.h>
#    include <signal.h>
#    include <time.h>
#    include <unistd.h>
#    include <utility>
#endif

STRATAGEMM_BEGIN

#if defined(_OPENMP) || defined(STRATAGEMM_THREADS)

// The processors that the quota of a container allows, from a line of cpu.max such as "150000 100000"; 0: any number.
inline int processors_of_quota(char const* line) {
    double quota = 0, period = 0;
    if (std::sscanf(line, "%lf %lf", &quota, &period) != 2 || quota <= 0 || period <= 0) return 0;
    double const whole = quota / period;
    return whole >= 1e6 ? 0 : static_cast<int>(whole) + (whole > static_cast<int>(whole));
}
// The least quota of the groups above this process (cgroup v2); 0: any number.
[[gnu::cold, gnu::noinline]] inline int processors_of_container() {
    char path[4096] = "/sys/fs/cgroup", line[4096];
    std::size_t const root = std::strlen(path);
    if (std::FILE* const groups = std::fopen("/proc/self/cgroup", "re")) {
        while (std::fgets(line, sizeof(line), groups))
            if (std::strncmp(line, "0::/", 4) == 0 && std::strlen(line) < sizeof(path) - root - 16)
                std::strcpy(path + root, line + 3), path[std::strcspn(path, "\n")] = '\0';
        std::fclose(groups);
    }
    int least = 0;
    for (std::size_t end = std::strlen(path); end >= root; --end) {
        if (path[end] != '/' && path[end] != '\0') continue;
        std::strcpy(path + end, "/cpu.max");
        if (std::FILE* const file = std::fopen(path, "re")) {
            int const most = std::fgets(line, sizeof(line), file) ? processors_of_quota(line) : 0;
            if (most > 0 && (least == 0 || most < least)) least = most;
            std::fclose(file);
        }
        path[end] = '\0';
    }
    return least;
}

// The threads of a team without a given size: the number in OMP_NUM_THREADS; otherwise no more than the container's
// quota and the processors of this thread allow, as they were at its first product.
[[gnu::noinline]] inline int offered_threads() {
    static bool const is_asked = std::getenv("OMP_NUM_THREADS");
    static thread_local int allowed = 0;
    int const asked = host_openmp::most_threads(), limit = host_openmp::limit(),
              most = asked < limit ? asked : limit;
    if (is_asked) return most;
    if (allowed == 0) {
        static int const quota = processors_of_container();
        int const own = host_openmp::processors();
        allowed = quota > 0 && quota < own ? quota : own;
    }
    return allowed < most ? allowed : most;
}

// A call of host_each() that has parts left.
struct host_task {
    void (*run)(void const* f, int thread, int x);
    void const* f;
    int count, team;
    int next = 0;            // atomic: the first part that nobody took
    int joined = 1;          // threads that came, the caller among them
    int inside = 0;          // atomic: threads of the pool that have not left
    bool is_awaited = false; // the caller sleeps until they have
    host_task* older = nullptr;
    unsigned control =
        floating_control(); // how the caller's processor rounds, and whether it flushes to zero

    // Bits of a result do not depend on which thread does a part.
    static unsigned floating_control() {
#    if defined(__x86_64__)
        return __builtin_ia32_stmxcsr();
#    else
        return 0;
#    endif
    }
    void take_parts_as_caller(int thread) {
#    if defined(__x86_64__)
        unsigned const own = floating_control();
        __builtin_ia32_ldmxcsr(control);
        take_parts(thread);
        __builtin_ia32_ldmxcsr(own);
#    else
        take_parts(thread);
#    endif
    }
    void take_parts(int thread) {
        for (int x; (x = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < count;) run(f, thread, x);
    }
    bool has_room() const { return joined < team && __atomic_load_n(&next, __ATOMIC_RELAXED) < count; }
};

// The process that began with this code, or loaded it: a child of fork() is another.
[[gnu::visibility("hidden")]] inline pid_t const host_process = getpid();

// Members are read and written under the mutex, or are atomic. Hidden: each library that holds this code has its own
// threads, which end when the library is unloaded.
#    pragma GCC visibility push(hidden)
class host_pool {
public:
    static host_pool& get() {
        static constinit host_pool pool;
        return pool;
    }
    // Whether this thread is doing a part.
    static bool& is_inside() {
        static thread_local bool inside = false;
        return inside;
    }
    // An exception in a part ends the program: other threads are at work on the caller's stack.
    [[gnu::cold, gnu::noinline]] void run(host_task& task) noexcept {
        if (!__atomic_load_n(&is_ready_, __ATOMIC_ACQUIRE)) prepare();
        long const begin = now();
        if (__atomic_load_n(&in_regions_, __ATOMIC_RELAXED)) return run_region(task, begin);
        open(task);
        bool const is_nested = is_inside();
        is_inside() = true;
        task.take_parts(0);
        is_inside() = is_nested;
        close(task, begin);
    }

private:
    // Nanoseconds: a thread that waits spins, then lets others run, then sleeps. `late`: a thread that comes after this
    // time is late.
    static constexpr long spins = 20000, yields = 1000000, late = 50000;
    // How many times in a row before the pool gives way to regions, or regions give way to the pool.
    static constexpr int often = 3;

    struct member {
        pthread_t thread;
        member* before;
    };
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t work_ = PTHREAD_COND_INITIALIZER, done_ = PTHREAD_COND_INITIALIZER;
    host_task* newest_ = nullptr;
    member* members_ = nullptr;
    unsigned posted_ = 0; // atomic: tasks, ever
    int threads_ = 0, busy_ = 0, asleep_ = 0;
    bool is_watched_ = false, is_ready_ = false;  // atomic
    bool is_closed_ = false, is_refused_ = false; // no thread is started any more; the system refused one
    bool in_regions_ = false, is_bound_ = false, is_child_ = false; // the first is atomic
    int missed_ = 0; // tasks in a row to which nobody came, or regions in a row with late threads
    long wasted_ = 0, retry_ = 0; // nanoseconds waited for these, and when regions are tried again

    // Runs the task in a parallel region of OpenMP. OpenMP's threads spin after regions of the program, and those of
    // the pool would wait for a processor. At its end a region waits for threads that come late: after some such
    // regions, no region is used for fifty times as long as these have cost.
    void run_region(host_task& task, long begin) {
        long latest = 0; // atomic: how late the last thread came
        host_openmp::region(task.team, [&](int thread) {
            long const came = now() - begin;
            for (long before = __atomic_load_n(&latest, __ATOMIC_RELAXED); came > before;)
                if (__atomic_compare_exchange_n(&latest, &before, came, true, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED))
                    break;
            task.take_parts_as_caller(thread);
        });
        pthread_mutex_lock(&mutex_);
        if (latest < late || is_bound_) {
            missed_ = 0, wasted_ = 0;
        } else {
            wasted_ += latest;
            if (++missed_ >= often) {
                retry_ = now() + 50 * wasted_;
                missed_ = 0, wasted_ = 0;
                __atomic_store_n(&in_regions_, false, __ATOMIC_RELAXED);
            }
        }
        pthread_mutex_unlock(&mutex_);
    }

    void open(host_task& task) {
        pthread_mutex_lock(&mutex_);
        task.older = newest_, newest_ = &task;
        while (threads_ - busy_ < task.team - 1 && !is_refused_) start_thread();
        __atomic_add_fetch(&posted_, 1, __ATOMIC_RELEASE);
        wake_two();
        pthread_mutex_unlock(&mutex_);
    }
    // Each thread that comes wakes two more, if they are needed.
    void wake_two() {
        if (asleep_ > 0) pthread_cond_signal(&work_);
        if (asleep_ > 1) pthread_cond_signal(&work_);
    }
    void close(host_task& task, long begin) {
        pthread_mutex_lock(&mutex_);
        if (task.joined > 1) {
            missed_ = 0;
        } else if (long const end = now(); host_openmp::is_there() && end - begin > late && busy_ == 0 &&
                                           !is_child_ && !is_refused_ && ++missed_ >= often) {
            missed_ = 0;
            if (end >= retry_) use_regions();
        }
        host_task** at = &newest_;
        while (*at != &task) at = &(*at)->older;
        *at = task.older;
        pthread_mutex_unlock(&mutex_);
        auto const have_left = [&] { return __atomic_load_n(&task.inside, __ATOMIC_ACQUIRE) == 0; };
        if (spin(spins, have_left, false)) return;
        pthread_mutex_lock(&mutex_);
        task.is_awaited = true;
        while (!have_left()) pthread_cond_wait(&done_, &mutex_);
        pthread_mutex_unlock(&mutex_);
    }

    void serve() {
        pthread_mutex_lock(&mutex_);
        while (!is_closed_) {
            host_task* task = newest_;
            while (task && !task->has_room()) task = task->older;
            if (task)
                join(*task);
            else
                wait_for_work();
        }
        pthread_mutex_unlock(&mutex_);
    }
    // These two functions are called under the mutex, and release it meanwhile.
    void join(host_task& task) {
        int const thread = task.joined++;
        __atomic_add_fetch(&task.inside, 1, __ATOMIC_RELAXED);
        ++busy_;
        if (task.has_room()) wake_two();
        pthread_mutex_unlock(&mutex_);
        is_inside() = true;
        task.take_parts_as_caller(thread);
        pthread_mutex_lock(&mutex_);
        --busy_;
        // The task is gone as soon as its caller sees that nobody is inside.
        bool const is_awaited = task.is_awaited;
        if (__atomic_sub_fetch(&task.inside, 1, __ATOMIC_RELEASE) == 0 && is_awaited)
            pthread_cond_broadcast(&done_);
    }
    void wait_for_work() {
        unsigned const before = posted_;
        pthread_mutex_unlock(&mutex_);
        auto const is_called = [&] { return __atomic_load_n(&posted_, __ATOMIC_ACQUIRE) != before; };
        bool const is_soon = spin(spins, is_called, false) || spin(yields, is_called, true);
        pthread_mutex_lock(&mutex_);
        if (is_soon) return;
        ++asleep_;
        while (!is_called()) pthread_cond_wait(&work_, &mutex_);
        --asleep_;
    }

    static long now() {
        timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000000000 + t.tv_nsec;
    }
    template <class Done>
    static bool spin(long nanoseconds, Done const& is_done, bool gives_way) {
        for (long const end = is_done() ? 0 : now() + nanoseconds; !is_done();) {
            for (int i = 0; i < 32 && !is_done(); ++i)
#    if defined(__x86_64__)
                __asm__ volatile("pause");
#    else
                __asm__ volatile("" ::: "memory");
#    endif
            if (gives_way) sched_yield();
            if (now() >= end) return is_done();
        }
        return true;
    }

    [[gnu::cold, gnu::noinline]] void start_thread() {
        is_refused_ = true;
        auto* const made = static_cast<member*>(std::malloc(sizeof(member)));
        if (!made || is_closed_) return std::free(made);
        sigset_t all,
            before; // signals are for the threads of the program, but for those that a thread causes itself
        sigfillset(&all);
        for (int const own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&all, own);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        auto const serve_pool = [](void*) -> void* { return get().serve(), nullptr; };
        bool const is_started = pthread_create(&made->thread, nullptr, serve_pool, nullptr) == 0;
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        if (!is_started) return std::free(made);
        made->before = members_, members_ = made;
        ++threads_, is_refused_ = false;
    }
    // The runtime of OpenMP stays in memory from now on, since its threads spin in it.
    [[gnu::cold, gnu::noinline]] void use_regions() {
        Dl_info runtime;
        if (dladdr(const_cast<void*>(host_openmp::place()), &runtime) && runtime.dli_fname)
            dlopen(runtime.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        __atomic_store_n(&in_regions_, true, __ATOMIC_RELAXED);
    }
    // The mutex is not held here: a fork() of another thread would leave it locked in the child. Two threads may do
    // this at once.
    [[gnu::cold, gnu::noinline]] void prepare() {
        is_child_ = getpid() != host_process; // has neither the threads of the pool nor those of OpenMP
        if (!is_child_) {
            if (!__atomic_exchange_n(&is_watched_, true, __ATOMIC_RELAXED)) {
                pthread_atfork(nullptr, nullptr, [] { new (&get()) host_pool; });
                call_at_unload([] { get().end_threads(); });
            }
            is_bound_ = host_openmp::binds_threads(); // threads of the pool are not
            if (is_bound_) use_regions();
        }
        __atomic_store_n(&is_ready_, true, __ATOMIC_RELEASE);
    }
    void end_threads() {
        pthread_mutex_lock(&mutex_);
        is_closed_ = true;
        __atomic_add_fetch(&posted_, 1, __ATOMIC_RELEASE);
        pthread_cond_broadcast(&work_);
        member* all = std::exchange(members_, nullptr);
        pthread_mutex_unlock(&mutex_);
        while (all) {
            pthread_join(all->thread, nullptr);
            std::free(std::exchange(all, all->before));
        }
    }
};

#    pragma GCC visibility pop

#endif

// The threads that a request stands for: 0 means all, and one inside another parallel region.
inline int host_threads([[maybe_unused]] int requested) {
#if defined(_OPENMP) || defined(STRATAGEMM_THREADS)
    if (requested > 0) return requested;
    return host_openmp::is_in_region() || host_pool::is_inside() ? 1 : offered_threads();
#else
    return 1;
#endif
}

// f(thread, x) for every x < count, by at most `team` threads. In a program without teams, or for one thread, a plain
// loop.
template <class F>
void host_each([[maybe_unused]] int team, int count, F const& f) {
#if defined(_OPENMP) || defined(STRATAGEMM_THREADS)
    if (team > 1 && count > 1) {
        host_task task{[](void const* g, int thread, int x) { (*static_cast<F const*>(g))(thread, x); }, &f,
                       count, team < count ? team : count};
        return host_pool::get().run(task);
    }
#endif
    for (int x = 0; x < count; ++x) f(0, x);
}

STRATAGEMM_END
