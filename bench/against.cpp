// Races two versions of the library, case by case and in turn, since a machine's clock wanders from one second to the
// next: against OTHER.so THIS.so [FILTER]. Prints for each case the median of the ratios of times, this version's to the
// other's, slowest first; and the geometric mean.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

struct version {
    int (*count)();
    char const* (*name)(int);
    double (*seconds)(int, int);

    explicit version(char const* path) {
        void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) std::fprintf(stderr, "%s\n", dlerror()), std::exit(2);
        count = reinterpret_cast<int (*)()>(dlsym(library, "count_cases"));
        name = reinterpret_cast<char const* (*)(int)>(dlsym(library, "name_of_case"));
        seconds = reinterpret_cast<double (*)(int, int)>(dlsym(library, "seconds_of_case"));
    }
};

double median(std::vector<double> x) {
    std::sort(x.begin(), x.end());
    return x[x.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 3) return std::fprintf(stderr, "usage: against OTHER.so THIS.so [FILTER]\n"), 2;
    version const other(argv[1]), mine(argv[2]);
    std::string const filter = argc > 3 ? argv[3] : "";
    struct line {
        double ratio, seconds;
        std::string name;
    };
    std::vector<line> lines;
    int const count = other.count();
    if (mine.count() != count) return std::fprintf(stderr, "the versions have other cases\n"), 2;
    for (int i = 0; i < count; ++i) {
        if (std::string(mine.name(i)).find(filter) == std::string::npos) continue;
        int times = 1; // so that one measurement takes a millisecond or more
        while (other.seconds(i, times) * times < 1e-3) times *= 2;
        mine.seconds(i, times);
        std::vector<double> ratios, all;
        for (int round = 0; round < 13 && (round < 5 || all.back() * times < 0.1); ++round) {
            bool const mine_first = round % 2 == 0;
            double const first = (mine_first ? mine : other).seconds(i, times),
                         second = (mine_first ? other : mine).seconds(i, times);
            ratios.push_back(mine_first ? first / second : second / first);
            all.push_back(mine_first ? second : first);
        }
        lines.push_back({median(ratios), median(all), mine.name(i)});
        std::fprintf(stderr, "\r%d of %d", i + 1, count);
    }
    std::fprintf(stderr, "\n");
    if (lines.empty()) {
        std::fprintf(stderr, "no case has '%s' in its name; the cases:\n", filter.c_str());
        for (int i = 0; i < count; ++i) std::fprintf(stderr, "%s\n", other.name(i));
        return 1;
    }
    std::sort(lines.begin(), lines.end(), [](line const& x, line const& y) { return x.ratio > y.ratio; });
    double sum = 0;
    std::printf("ratio  other, us  case\n");
    for (line const& x : lines) {
        std::printf("%5.3f %10.2f  %s\n", x.ratio, x.seconds * 1e6, x.name.c_str());
        sum += std::log(x.ratio);
    }
    std::printf("geometric mean of %zu: %.3f\n", lines.size(),
                std::exp(sum / static_cast<double>(lines.size())));
}
