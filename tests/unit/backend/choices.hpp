// What the tests of choices share (cuda_choices.cpp, opencl_choices.cpp): a list of what is chosen, and products by lot.
#pragma once

#include "catch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

// Numbers that look random, the same everywhere.
class drawn {
public:
    std::ptrdiff_t below(std::ptrdiff_t end) {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::ptrdiff_t>((state_ >> 33) % static_cast<std::uint64_t>(end));
    }
    // A side: each number of bits up to `bits` is as likely as any other, and most sides are odd.
    std::ptrdiff_t side(std::ptrdiff_t bits) {
        std::ptrdiff_t const power = std::ptrdiff_t{1} << below(bits), x = power + below(power);
        switch (below(4)) {
        case 0: return power;
        case 1: return (x + 15) / 16 * 16;
        default: return x;
        }
    }

private:
    std::uint64_t state_ = 1;
};

// The list of what is chosen, as its file has it: from the second line of the text on. If the environment has `variable`,
// lines are not checked, but written to the file that it names.
class list_of_choices {
public:
    list_of_choices(char const* text, char const* variable) : listed_(text) {
        std::string begins;
        std::getline(listed_, begins);
        if (char const* const file = std::getenv(variable)) {
            written_.open(file);
            written_ << "R\"(\n";
        }
    }
    ~list_of_choices() {
        if (written_.is_open()) written_ << ")\"\n";
    }
    list_of_choices(list_of_choices const&) = delete;
    list_of_choices& operator=(list_of_choices const&) = delete;

    void check(std::string const& line) {
        if (written_.is_open()) {
            written_ << line << '\n';
            return;
        }
        std::string expected;
        std::getline(listed_, expected);
        CHECK(line == expected);
    }
    // Whether every line of the list has been asked for.
    bool ends() {
        std::string more;
        return written_.is_open() || !std::getline(listed_, more) || more.empty();
    }

private:
    std::istringstream listed_;
    std::ofstream written_;
};
