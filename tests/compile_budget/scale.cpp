// What compiling costs on this machine, for scale: the standard library only.
#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

int main(int count, char** words) {
    std::map<std::string, std::vector<int>> places;
    for (int i = 0; i < count; ++i) places[words[i]].push_back(i);
    std::ostringstream text;
    for (auto& [word, at] : places) {
        std::stable_sort(at.begin(), at.end(), [](int x, int y) { return x % 7 < y % 7; });
        for (int const i : at) text << word << ' ' << i << '\n';
    }
    return static_cast<int>(text.str().size());
}
