// unloaded FIRST SECOND: opens two libraries, multiplies in the second, closes it and multiplies in the first. Then opens
// and closes the second again and again: no thread and no page of code may stay.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <thread>

namespace {

void* open_library(char const* path) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) std::printf("%s\n", dlerror());
    return library;
}
// In a thread of its own: a library stays as long as a thread that has workspace of it.
bool multiplies(void* library) {
    int result = 1;
    std::thread([&] {
        if (auto* const f = reinterpret_cast<int (*)()>(dlsym(library, "multiply"))) result = f();
    }).join();
    return result == 0;
}
// Pages of code that are of no file.
int generated_pages() {
    int count = 0;
    char line[4096];
    if (std::FILE* const maps = std::fopen("/proc/self/maps", "r")) {
        while (std::fgets(line, sizeof(line), maps))
            count += std::strstr(line, "r-xp 00000000 00:00 0") && !std::strchr(line, '[');
        std::fclose(maps);
    }
    return count;
}
int threads() {
    int count = 0;
    if (DIR* const tasks = opendir("/proc/self/task")) {
        while (readdir(tasks)) ++count;
        closedir(tasks);
    }
    return count;
}

} // namespace

int main(int, char** arguments) {
    void* const first = open_library(arguments[1]);
    void* const second = open_library(arguments[2]);
    if (!first || !second || !multiplies(second)) return 1;
    dlclose(second);
    if (!multiplies(first) || !multiplies(first)) return 2;
    int const pages = generated_pages(), before = threads();
    for (int again = 0; again < 5; ++again) {
        void* const library = open_library(arguments[2]);
        if (!library || !multiplies(library)) return 3;
        dlclose(library);
        if (dlopen(arguments[2], RTLD_NOW | RTLD_NOLOAD)) std::printf("it is not unloaded\n");
    }
    // A thread that has ended may still be listed for a moment, here and above.
    int after = threads();
    for (int wait = 0; wait < 200 && after > before; ++wait) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        after = threads();
    }
    std::printf("%d pages and %d threads, then %d and %d\n", pages, before, generated_pages(), after);
    return generated_pages() == pages && after <= before ? 0 : 4;
}
