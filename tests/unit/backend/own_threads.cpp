// The threads of a program that is compiled with STRATAGEMM_THREADS and linked with no OpenMP. It does without Catch2, whose
// main here has OpenMP. With a name of an OpenMP runtime as its argument, the program opens that runtime first.
#include "child.hpp"

#include <stratagemm/backend/host/team.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <set>
#include <string>
#include <thread>
#include <vector>

#ifdef _OPENMP
#    error "this program is about what is there without OpenMP"
#endif

namespace sg = stratagemm;

namespace {

int failed = 0;
void check(bool right, char const* what) {
    if (!right) std::fprintf(stderr, "%s\n", what), failed = 1;
}

bool each_part_once(int team, int parts) {
    std::vector<std::atomic<int>> times(static_cast<std::size_t>(parts));
    sg::host_each(team, parts, [&](int thread, int x) {
        if (thread >= 0 && thread < team) ++times[static_cast<std::size_t>(x)];
    });
    for (auto const& n : times)
        if (n != 1) return false;
    return true;
}
// Each of two parts waits until the other has begun, or for twenty seconds.
bool two_at_a_time() {
    std::atomic<int> begun{0};
    std::atomic<bool> met{true};
    sg::host_each(2, 2, [&](int, int) {
        ++begun;
        auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (begun < 2 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
        if (begun < 2) met = false;
    });
    return met;
}
// The threads that do parts in a region of OpenMP, by their numbers.
std::size_t threads_of_region(int team) {
    std::set<int> numbers;
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
    sg::host_openmp::region(team, [&](int thread) {
        while (busy.test_and_set()) std::this_thread::yield();
        numbers.insert(thread);
        busy.clear();
    });
    return numbers.size();
}

} // namespace

int main(int argc, char** argv) {
    setenv("OMP_NUM_THREADS", "3,2", 1); // OpenMP reads it as it is opened
    bool const opened = argc > 1 && dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (argc > 1 && !opened) return std::puts("skipped: there is no such runtime here"), 77;

    check(sg::host_has_teams, "a program with STRATAGEMM_THREADS has teams");
    check(sg::host_openmp::is_there() == opened, "OpenMP is there only if the process has a runtime");
    for (char const* const none : {"", "many", "0", "-2", "99999999999"})
        check(sg::threads_of_environment(none) == 0, "what is no number of threads is taken for one");
    check(sg::threads_of_environment(nullptr) == 0, "a variable that is not set names a number of threads");
    check(sg::threads_of_environment("7") == 7 && sg::threads_of_environment("3,2") == 3,
          "the first number of OMP_NUM_THREADS is the number of threads");
    check(sg::processors_of_thread() >= 1, "there is a processor");
    check(sg::host_threads(0) == 3, "OMP_NUM_THREADS says how many threads there are");
    check(sg::host_threads(5) == 5, "a caller says how many threads there are");

    for (int const team : {1, 2, 3, 8})
        for (int const parts : {0, 1, 2, 7, 100})
            check(each_part_once(team, parts), "each part is done once");
    check(two_at_a_time(), "two parts are done at a time");
    std::atomic<int> most{0};
    sg::host_each(3, 9, [&](int, int) {
        if (int const inside = sg::host_threads(0); inside > most) most = inside;
    });
    check(most == 1, "a product within a part has one thread");
    if (opened) check(threads_of_region(3) == 3, "a region of OpenMP has the threads that it is asked for");

    pid_t const child = fork();
    if (child == 0) {
        alarm(60);          // a child that waits for ever fails
#ifdef STRATAGEMM_SANITIZED // threads that such a child starts may wait for what its parent's threads held
        bool const are_two = true;
#else
        bool const are_two = two_at_a_time();
#endif
        _exit(each_part_once(3, 100) && are_two ? 0 : 1);
    }
    check(support::wait_for(child) == 0, "a child of fork has threads of its own");
    return failed;
}
