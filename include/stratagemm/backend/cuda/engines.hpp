// The engines: ways to multiply, a file each in engine/. A configuration is an engine with its parameters.
#pragma once

#include "engine/blocked.hpp"
#include "engine/direct.hpp"
#include "engine/fp64.hpp"
#include "engine/mma.hpp"
#include "engine/narrow.hpp"
#include "engine/ordered.hpp"
#include "engine/simt.hpp"
#include "engine/small.hpp"
#include "engine/wgmma.hpp"

#include <type_traits>
#include <variant>

STRATAGEMM_BEGIN

// Calls f with each parameter of an engine, constant or not.
template <class Engine, class F>
void each_parameter_of(Engine& engine, F const& f) {
    if constexpr (requires { Engine::each_parameter(engine, f); }) Engine::each_parameter(engine, f);
}

// In the order in which they are asked: if two are as fast, the first is taken. The number of an engine is its place.
template <class... Engines>
class cuda_configuration_of : public std::variant<Engines...> {
public:
    using std::variant<Engines...>::variant;

    friend bool operator==(cuda_configuration_of const&, cuda_configuration_of const&) = default;
    friend auto operator<=>(cuda_configuration_of const&, cuda_configuration_of const&) = default;

    // f(the engine). std::visit makes a table of functions for each f, of which a product has a dozen: without them it
    // compiles in a tenth less time. What f returns is made without a value first.
    template <class F>
    auto visit(F const& f) const {
        using result = decltype(f(*std::get_if<0>(this)));
        if constexpr (std::is_void_v<result>) {
            (void)((as<Engines>() && (f(*as<Engines>()), true)) || ...);
        } else {
            result value{};
            (void)((as<Engines>() && (value = f(*as<Engines>()), true)) || ...);
            return value;
        }
    }
    template <class Engine>
    Engine const* as() const {
        return std::get_if<Engine>(this);
    }
    // The first engine stands for none: by default a product gets the engine that is chosen for it.
    bool is_given() const { return this->index() != 0; }
    // Calls f with a configuration of each engine.
    template <class F>
    static void for_each(F const& f) {
        (f(Engines{}), ...);
    }
    // The engine of that number with its parameters, as tuning and files of measurements keep them.
    static cuda_configuration_of of(std::vector<short> const& values) {
        cuda_configuration_of made;
        short number = 0;
        for_each([&]<class Engine>(Engine const&) {
            if (values[0] != number++) return;
            Engine engine{};
            std::size_t place = 1;
            each_parameter_of(engine, [&](short& x) { x = values[place++]; });
            made = engine;
        });
        return made;
    }
    friend std::vector<short> values_of(cuda_configuration_of const& c) {
        return c.visit([&](auto const& engine) {
            std::vector<short> values = {static_cast<short>(c.index())};
            std::size_t place = 1;
            values.resize(11);
            each_parameter_of(engine, [&](short x) { values[place++] = x; });
            return values;
        });
    }
};
using cuda_configuration = cuda_configuration_of<cuda_direct, cuda_small, cuda_narrow, cuda_wgmma, cuda_simt,
                                                 cuda_fp64, cuda_mma, cuda_blocked, cuda_ordered>;

// Whether an engine ever multiplies elements of that type, given as one type or two: what it never multiplies is not
// compiled.
template <class Engine>
constexpr bool multiplies(char type, bool one_type) {
    bool takes = true;
    if constexpr (requires { Engine::types; }) {
        takes = false;
        for (char const t : Engine::types) takes |= t == type;
    }
    if constexpr (requires { Engine::widens; }) takes &= one_type || Engine::widens;
    return takes;
}

// Calls f with each built-in tile of each engine.
template <class F>
void for_each_built_in(F const& f) {
    cuda_configuration::for_each([&]<class Engine>(Engine const&) {
        if constexpr (has_tiles<Engine>)
            for (auto const& e : cuda_tiles_of<Engine>) f(e);
    });
}

inline std::string describe(cuda_configuration const& c) {
    return c.visit([](auto const& engine) { return engine.describe(); });
}

// Whether a kernel rounds as tensor cores do: truncating, once for several terms.
inline bool truncates(cuda_configuration const& c, std::size_t element) {
    return c.visit([&](auto const& engine) {
        if constexpr (requires { engine.truncates(element); }) return engine.truncates(element);
        return false;
    });
}
// Whether a kernel for a type, given by its letter, may round so: if none does, no choice is needed to tell.
inline bool may_truncate(cuda_device const& d, char type, std::size_t element) {
    bool any = false;
    cuda_configuration::for_each([&]<class Engine>(Engine const& engine) {
        if constexpr (requires { engine.truncates(element); }) {
            bool takes = engine.truncates(element);
            if constexpr (requires { Engine::takes_type(d, type); }) takes &= Engine::takes_type(d, type);
            any |= takes;
        }
    });
    return any;
}
// Whether operands that cannot be fetched as they lie are copied first.
inline bool copies_lines(cuda_configuration const& c, cuda_way const& way) {
    return c.visit([&](auto const& engine) {
        if constexpr (requires { engine.copies_lines(way); }) return engine.copies_lines(way);
        return false;
    });
}

// The definitions of a tile for the kernel that adds up sums of the last tiles.
inline std::string cuda_tail_definitions(cuda_configuration const& c, cuda_form const& form) {
    return c.visit([&](auto const& engine) -> std::string {
        if constexpr (requires { engine.definitions(form); })
            return form.tail ? engine.definitions(form) : "";
        return {};
    });
}

// The kernel of a product. A may be narrower than In where there are few columns, and either operand where simt gathers.
template <class In, class Out, class A = In, class B = In, class Epilogue>
cuda_source cuda_product_source(cuda_configuration const& c, cuda_form const& form,
                                Epilogue const& epilogue) {
    return c.visit([&](auto const& engine) { return engine.template source<In, Out, A, B>(form, epilogue); });
}

STRATAGEMM_END
