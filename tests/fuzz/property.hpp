// The property that random products must have, for the fuzzer and for the conformance suite.
#pragma once

#include "conformance/trial.hpp"

#include <cstddef>

namespace trials {

// The bytes of a fuzzer as a source of choices. When they run out, every choice is the first one.
class choices {
public:
    choices(std::uint8_t const* data, std::size_t size) : data_(data), left_(size) {}
    int below(int n) {
        unsigned value = 0;
        for (unsigned reach = 1; reach < static_cast<unsigned>(n) && left_ > 0; reach <<= 8) {
            value = value << 8 | *data_++;
            --left_;
        }
        return static_cast<int>(value % static_cast<unsigned>(n));
    }

private:
    std::uint8_t const* data_;
    std::size_t left_;
};

// Any product, of a size that a fuzzer can afford; now and then one, or a batch, with work for seven threads.
template <class Source>
trial draw_product(Source& from) {
    // The sizes come first: when a fuzzer's bytes run out, a plain product is left and not an empty one.
    bool const large = from.below(25) == 24;
    auto size = [&] { return from.below(4) == 3 || large ? from.below(200) : from.below(40); };
    index_t const m = size(), n = size(), k = size();
    trial t = draw_trial(from);
    t.m = m, t.n = n, t.k = k;
    if (large && from.below(2) == 1) t.count = 2 + from.below(12);
    // Ways of small products, and of sharing them out, end at powers of two, and need rows without gaps.
    if (large && from.below(2) == 1) {
        for (index_t* side : {&t.m, &t.n, &t.k}) *side = index_t{16} << from.below(4);
        t.a = t.b = t.c = t.e = form{};
    }
    // Only one long side at a time, lest the oracle take all the time.
    while (t.m * t.n * t.k * std::max<index_t>(t.count, 1) > (large ? 1800000 : 60000))
        (t.m > t.n ? t.m : t.n > t.k ? t.n : t.k) /= 2;
    return t;
}

// What is wrong with what any of the policies makes of it; empty if nothing is.
template <class TA, class TC, class ForEachPolicy>
std::string wrong_with(trial const& t, ForEachPolicy&& for_each) {
    prepared<TA, TC> p(t);
    std::string wrong;
    for_each([&](char const* name, auto const& policy) {
        using P = std::remove_cvref_t<decltype(policy)>;
        if constexpr (P::template accepts<typename prepared<TA, TC>::problem> == sg::verdict::yes)
            if (verdict const v = try_on(policy, p); !v.wrong.empty())
                wrong += std::string(name) + ": " + describe(t) + '\n' + v.wrong;
    });
    return wrong;
}

} // namespace trials
