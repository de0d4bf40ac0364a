#include "policies.hpp"

#include <array>
#include <iterator>

namespace stratagemm_bindings {
namespace {

// The layers with their defaults, and those options that change what a program can rely on.
named_policy const all[] = {
    {"host", sg::host{}},
    {"host(invariant)", sg::host{.invariant = true}},
    {"reference", sg::reference{}},
    {"recursive(host)", sg::recursive{sg::host{}}},
    {"strassen(host)", sg::strassen{sg::host{}}},
    {"ozaki(host)", sg::ozaki{sg::host{}}},
    {"ozaki(fp32)", sg::ozaki{sg::host{}, {.accuracy = sg::accuracy::fp32}}},
    {"ozaki(fp64)", sg::ozaki{sg::host{}, {.accuracy = sg::accuracy::fp64}}},
    {"split(host)", sg::split{sg::host{}}},
    {"verified(host)", sg::verified{sg::host{}}},
    {"automatic(host)", sg::automatic{sg::host{}}},
};

} // namespace

std::span<named_policy const> policies() { return all; }

std::span<char const* const> policy_names() {
    static auto const names = [] {
        std::array<char const*, std::size(all)> some{};
        for (std::size_t i = 0; i < some.size(); ++i) some[i] = all[i].name;
        return some;
    }();
    return names;
}

named_policy const* find_policy(std::string_view text, std::string& error) {
    auto const at = find_name(text, policy_names(), error);
    return at < 0 ? nullptr : &all[at];
}

} // namespace stratagemm_bindings
