// What is chosen for some hundred products on devices of five families, against the list of opencl_choices.txt. A change
// of that list is a change of what runs: it belongs into the commit that makes it, and is measured. With
// OPENCL_CHOICES_WRITE=FILE in the environment the test writes the list anew. No device is needed.
#include "catch.hpp"
#include "unit/backend/choices.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/opencl.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace sg = stratagemm;

namespace {

struct named_device {
    char const* name;
    sg::opencl_device device;
};
std::vector<named_device> devices() {
    auto const device = [](sg::opencl_family family, std::size_t work_group, std::size_t local, int units,
                           double clock) {
        sg::opencl_device d;
        d.family = family, d.work_group = work_group, d.local_bytes = local, d.compute_units = units;
        d.clock = clock;
        return d;
    };
    using family = sg::opencl_family;
    return {{"nvidia", device(family::nvidia, 1024, 49152, 132, 1.98e9)},
            {"gfx803", device(family::gfx803, 256, 32768, 36, 1.545e9)},
            {"cpu", device(family::cpu, 4096, 2097152, 8, 3e9)},
            {"rdna", device(family::rdna, 256, 65536, 20, 2.1e9)},
            {"intel", device(family::intel, 256, 65536, 96, 1.3e9)}};
}

struct asked {
    char sums;
    sg::opencl_sides sides;
    bool along_k = true, combined = false, invariant = false;
};

std::string line_of(asked const& x, named_device const& on) {
    std::size_t const scalar = x.sums == 's' || x.sums == 'i' ? 4 : x.sums == 'z' ? 16 : 8;
    sg::opencl_choice const c =
        sg::choose({on.device, x.sums, scalar, x.sides, x.along_k, x.combined, x.invariant});
    static constexpr char const* ways[] = {"direct", "narrow", "small", "tiled"};
    std::ostringstream line;
    line << on.name << ' ' << x.sums << ' ' << x.sides.m << 'x' << x.sides.n << 'x' << x.sides.k;
    if (x.sides.count > 1) line << '*' << x.sides.count;
    line << (x.along_k ? " n" : " t") << (x.combined ? " combined" : "") << (x.invariant ? " in order" : "")
         << ": " << ways[static_cast<int>(c.way)];
    if (c.tile.threads() > 0)
        for (short const value : values_of(c.tile)) line << ' ' << value;
    if (c.part > 0) line << ", part " << c.part;
    return line.str();
}

std::vector<asked> all_asked() {
    std::vector<asked> all;
    drawn from;
    for (std::ptrdiff_t const n : {4096, 1024, 1000, 256, 64})
        for (char const sums : {'s', 'd'}) all.push_back({sums, {n, n, n, 1}});
    for (int i = 0; i < 30; ++i) {
        char const sums = "sssdicz"[from.below(7)];
        all.push_back({sums, {from.side(13), from.side(13), from.side(13), 1}, from.below(2) == 0});
    }
    for (int i = 0; i < 10; ++i)
        all.push_back(
            {"sd" [i % 2], { from.side(14), 1 + from.below(4), from.side(15), 1 }, from.below(2) == 0});
    for (int i = 0; i < 8; ++i)
        all.push_back({"sc" [i % 2],
                       { 1 + from.below(32), 1 + from.below(32), 1 + from.below(32), from.side(16) },
                       from.below(2) == 0});
    for (int i = 0; i < 10; ++i)
        all.push_back({'s', {from.side(12), from.side(12), from.side(12), 1}, true, i % 2 == 0, i % 2 == 1});
    return all;
}

} // namespace

TEST_CASE("OpenCL: each product gets the kernel and the tile of the list") {
    list_of_choices list(
#include "opencl_choices.txt"
        , "OPENCL_CHOICES_WRITE");
    for (named_device const& on : devices())
        for (asked const& x : all_asked()) list.check(line_of(x, on));
    CHECK(list.ends());
}
