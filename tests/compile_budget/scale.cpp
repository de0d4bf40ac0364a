// What compiling costs on this machine, for scale: headers of the standard library, and code made of their templates.
#include <algorithm>
#include <complex>
#include <functional>
#include <map>
#include <string>
#include <vector>

std::map<std::string, std::vector<std::complex<double>>> all;

int main(int count, char** names) {
    for (int i = 0; i < count; ++i) all[names[i]].emplace_back(i, -i);
    std::vector<std::function<double()>> calls;
    for (auto& entry : all) {
        auto& values = entry.second;
        std::sort(values.begin(), values.end(),
                  [](auto const& x, auto const& y) { return x.real() < y.real(); });
        calls.push_back([&values] { return values.front().imag(); });
    }
    double sum = 0;
    for (auto const& call : calls) sum += call();
    return sum > 0;
}
