// What is chosen for some hundred products on devices of four families, against the list of cuda_choices.txt. A change
// of that list is a change of what runs: it belongs into the commit that makes it, and is measured. With
// CUDA_CHOICES_WRITE=FILE in the environment the test writes the list anew. No device is needed.
#include "catch.hpp"
#include "unit/backend/choices.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/cuda.hpp>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace sg = stratagemm;

namespace {

struct complex64 { // as the library recognises complex numbers
    using value_type = float;
    float re, im;
    float real() const { return re; }
    float imag() const { return im; }
};
struct complex128 {
    using value_type = double;
    double re, im;
    double real() const { return re; }
    double imag() const { return im; }
};

sg::cuda_device device_of(int capability) {
    sg::cuda_device d;
    d.name = "golden", d.capability = capability;
    bool const first = capability == 75, second = capability == 80, third = capability == 90;
    d.units = first ? 40 : second ? 108 : third ? 132 : 148;
    d.shared_bytes = first ? 65536 : second ? 166912 : 232448;
    d.cache_bytes = (first ? std::size_t{4} : second ? 40 : third ? 50 : 126) << 20;
    d.bytes_per_cycle = first ? 3.5 : second ? 6.5 : third ? 16.5 : 24.5;
    return d;
}

// A product as a line of the list names it.
struct asked {
    char type;
    sg::cuda_sides sides;
    sg::cuda_layout layout{};
    int capability = 90;
    bool invariant = false;
    sg::cuda_configuration only{};
};

template <class In, class Out = sg::accumulator_t<In>>
std::size_t workspace(sg::cuda_choice const& choice, sg::cuda_sides const& s) {
    return sg::cuda_product<sg::dense_problem<In, In, Out, sg::cuda_memory>>::workspace(choice, s);
}
std::size_t workspace(char type, sg::cuda_choice const& choice, sg::cuda_sides const& s) {
    switch (type) {
    case 's':
    case 't': return workspace<float>(choice, s);
    case 'd': return workspace<double>(choice, s);
    case 'h': return workspace<sg::half>(choice, s);
    case 'w': return workspace<sg::bfloat16>(choice, s);
    case 'b': return workspace<std::int8_t>(choice, s);
    case '4': return workspace<sg::fp8_e4m3>(choice, s);
    case 'c': return workspace<complex64, complex64>(choice, s);
    default: return workspace<complex128, complex128>(choice, s);
    }
}
std::size_t bytes_of(char type) {
    switch (type) {
    case 'b':
    case '4': return 1;
    case 'h':
    case 'w': return 2;
    case 's':
    case 't': return 4;
    case 'z': return 16;
    default: return 8;
    }
}

// The parameters that describe() does not name.
std::string parameters(sg::cuda_direct const&) { return {}; }
std::string parameters(sg::cuda_small const& t) {
    std::ostringstream text;
    text << t.m << 'x' << t.n << 'x' << t.k << ' ' << t.micro_m << 'x' << t.micro_n << ' ' << t.stages;
    return text.str();
}
std::string parameters(sg::cuda_narrow const& t) {
    return std::to_string(t.n) + " columns " + std::to_string(t.slices);
}
std::string parameters(sg::cuda_ordered const& t) {
    std::ostringstream text;
    text << t.m << 'x' << t.n << 'x' << t.k << ' ' << t.pieces << 'x' << t.columns << ' ' << t.stages << ' '
         << t.cluster;
    return text.str();
}
std::string parameters(auto const& tile) {
    std::vector<short> const v = values_of(sg::cuda_configuration(tile));
    std::ostringstream text;
    text << v[4] << 'x' << v[5] << ' ' << v[6] << ' ' << v[7];
    return text.str();
}
// What the caller wants, as the list names it.
std::string given(sg::cuda_narrow const& t) { return " given narrow 0x0/" + std::to_string(t.parts); }
template <class Engine>
std::string given(Engine const& t) {
    if constexpr (!sg::has_tiles<Engine>)
        return {};
    else {
        std::ostringstream text;
        text << " given " << Engine::name << ' ' << t.m << 'x' << t.n << '/' << t.parts;
        return text.str();
    }
}

std::string line_of(asked const& x) {
    std::size_t const element = bytes_of(x.type);
    sg::cuda_device const device = device_of(x.capability);
    sg::cuda_choice const c = sg::choose({.device = device,
                                          .type = x.type,
                                          .element = element,
                                          .sides = x.sides,
                                          .layout = x.layout,
                                          .invariant = x.invariant},
                                         x.only);
    std::ostringstream line;
    line << x.type << ' ' << x.sides.m << 'x' << x.sides.n << 'x' << x.sides.k;
    if (x.sides.count > 1) line << '*' << x.sides.count;
    line << ' ' << (x.layout.a_along_k ? 'n' : 't') << (x.layout.b_along_k ? 't' : 'n')
         << (x.layout.a_in_lines ? "" : "g");
    if (x.layout.widens()) line << x.layout.a_bytes << x.layout.b_bytes;
    line << ' ' << x.capability << (x.invariant ? " in order" : "");
    line << x.only.visit([](auto const& engine) { return given(engine); });
    line << ": " << sg::describe(c.tile) << "; "
         << c.tile.visit([](auto const& engine) { return parameters(engine); }) << ';';
    if (c.part > 0) line << " part " << c.part;
    if (c.whole > 0) line << " whole " << c.whole;
    if (c.piece > 0) line << " piece " << c.piece;
    line << (c.together ? " together" : "") << (c.shifted ? " shifted" : "") << (c.by_reals ? " reals" : "")
         << (c.widens ? " widens" : "") << (c.invariant ? " invariant" : "") << "; "
         << workspace(x.type, c, x.sides);
    if (std::getenv("CUDA_CHOICES_CYCLES")) { // to compare two trees by hand
        char cycles[32];
        std::snprintf(cycles, sizeof cycles, " %.17g", c.cycles);
        line << cycles;
    }
    return line.str();
}

// An engine is its own file and a place in a list: this one adds rows up in no time, if there are few.
struct toy {
    static constexpr char const* name = "toy";
    short rows = 0;

    friend bool operator==(toy const&, toy const&) = default;
    friend auto operator<=>(toy const&, toy const&) = default;

    static bool takes(sg::cuda_query const& q) { return q.sides.m <= 4; }
    static bool keeps_order(sg::cuda_order const&, char, sg::cuda_device const&) { return false; }
    template <class F>
    static void candidates(sg::cuda_query const& q, F& f) {
        sg::cuda_way way;
        way.cycles = 1;
        f(toy{static_cast<short>(q.sides.m)}, way);
    }
    std::string describe() const { return "toy, " + std::to_string(rows) + " rows"; }
    template <class In, class Out, class, class, class Epilogue>
    sg::cuda_source source(sg::cuda_form const& form, Epilogue const& epilogue) const {
        sg::cuda_definitions d;
        return sg::cuda_source_of<In, Out>(name, "", epilogue, d("ROWS", rows).form(form).text());
    }
};

std::vector<asked> all_asked() {
    std::vector<asked> all;
    sg::cuda_layout const layouts[] = {{true, false}, {true, true}, {false, false}, {false, true}};
    char const* const types = "sthwdb4cz";
    int const families[] = {75, 80, 100, 90};
    // What programs ask for: squares, a row or a column of tiles, few columns, long k, batches.
    sg::cuda_sides const common[] = {{4096, 4096, 4096, 1}, {1000, 1000, 1000, 1}, {512, 512, 512, 1},
                                     {127, 65, 33, 1},      {8192, 16, 2048, 1},   {4096, 1, 4096, 1},
                                     {333, 3, 5000, 1},     {64, 64, 65536, 1},    {16, 16, 16, 1000},
                                     {200, 150, 100, 7},    {5, 7, 3, 1}};
    int at = 0;
    for (char const* type = types; *type; ++type)
        for (sg::cuda_sides const& s : common)
            for (int const capability : {families[at / 2 % 3], 90}) {
                all.push_back({*type, s, layouts[at / 2 % 4], capability});
                ++at;
            }
    drawn from;
    for (int i = 0; i < 300; ++i) {
        asked x;
        x.type = types[i % 9];
        x.sides = {from.side(14), from.side(13), from.side(15), 1};
        switch (from.below(6)) {
        case 0: x.sides.n = 1 + from.below(8); break;
        case 1: x.sides.m = 1 + from.below(70); break;
        case 2: x.sides.count = 2 + from.below(100); break;
        default: break;
        }
        x.layout = layouts[from.below(4)];
        x.layout.a_in_lines = from.below(10) > 0;
        x.capability = from.below(2) ? 90 : families[from.below(4)];
        x.invariant = from.below(5) == 0;
        all.push_back(x);
    }
    // Operands that are narrower than the type of the product.
    for (int i = 0; i < 24; ++i) {
        asked x{'s', {from.side(13), from.side(12), from.side(13), 1}, layouts[i % 4], families[i / 4 % 4]};
        (i % 2 ? x.layout.a_bytes : x.layout.b_bytes) = static_cast<short>(1 + i / 8 % 2);
        all.push_back(x);
    }
    // A tile that the caller wants.
    std::vector<std::pair<char, sg::cuda_configuration>> wanted;
    auto const with_parts = [&](char type, auto tile) {
        for (int const parts : {0, 2, 5})
            tile.parts = static_cast<short>(parts), wanted.emplace_back(type, tile);
    };
    int place = 0;
    sg::for_each_built_in([&](auto const& e) {
        if (place++ < 3 || from.below(3) == 0) with_parts(e.types[0], e.tile);
    });
    with_parts('s', sg::cuda_narrow{});
    with_parts('h', sg::cuda_narrow{.together = true, .anywhere = true});
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto const& [type, tile] = wanted[i];
        asked x{type, {from.side(12), from.side(11), from.side(13), 1}, layouts[from.below(4)]};
        if (tile.as<sg::cuda_narrow>()) x.sides.n = 2, x.sides.k = 4097, x.layout = layouts[0];
        x.only = tile, x.invariant = i % 3 == 0 && from.below(4) == 0;
        all.push_back(x);
    }
    return all;
}

} // namespace

TEST_CASE("CUDA: each product is multiplied by the engine and the tile of the list") {
    list_of_choices list(
#include "cuda_choices.txt"
        , "CUDA_CHOICES_WRITE");
    for (asked const& x : all_asked()) list.check(line_of(x));
    CHECK(list.ends());
}

TEST_CASE("CUDA: an epilogue takes time by its instructions, whatever engine was chosen") {
    for (asked const& x : all_asked()) {
        INFO(line_of(x));
        sg::cuda_device const device = device_of(x.capability);
        sg::cuda_query const q{.device = device,
                               .type = x.type,
                               .element = bytes_of(x.type),
                               .sides = x.sides,
                               .layout = x.layout,
                               .invariant = x.invariant};
        sg::cuda_choice const c = sg::choose(q, x.only);
        double const relu = sg::cycles_after(1, q, c), gelu = sg::cycles_after(31, q, c);
        CHECK(sg::cycles_after(0, q, c) == 0);
        CHECK(relu >= 0);
        CHECK(gelu >= relu);
        // No multiprocessor does more than four warps' instructions in a cycle; factors of tiles are for all that blocks
        // do.
        constexpr int many = 1000000000;
        double const elements =
            static_cast<double>(x.sides.m * x.sides.n) * static_cast<double>(x.sides.count);
        if (!x.only.is_given() && c.cycles < 1e299)
            CHECK(sg::cycles_after(many, q, c) > 0.4 * many * elements / (128 * device.units));
    }
}

TEST_CASE("CUDA: an engine that is added to the list is chosen, and has its source") {
    using list = sg::cuda_configuration_of<sg::cuda_direct, toy, sg::cuda_blocked>;
    sg::cuda_device const device = device_of(80);
    auto const chosen = [&](std::ptrdiff_t m) {
        return sg::best_of_all<list>({.device = device, .type = 's', .element = 4, .sides = {m, 500, 500, 1}})
            .tile;
    };
    auto const text = [](auto const& engine) { return engine.describe(); };
    CHECK(chosen(3).visit(text) == "toy, 3 rows");
    CHECK(chosen(300).visit(text).starts_with("blocked"));
    CHECK(chosen(3).as<toy>()->rows == 3);
    CHECK((chosen(3) == chosen(3)));
    CHECK((chosen(3) < chosen(4)));
    sg::cuda_source const source = chosen(3).visit([](auto const& engine) {
        return engine.template source<float, float, float, float>(sg::cuda_form{},
                                                                  sg::cuda_epilogue<float>(sg::identity{}));
    });
    CHECK(std::string(source.kernel) == "toy");
    CHECK(source.text.find("#define ROWS 3\n") != std::string::npos);
}
