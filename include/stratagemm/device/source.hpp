// Kernel sources made final: definitions, the prelude, the kernel. What comes out compiles by itself.
#pragma once

#include "../core/epilogue.hpp"

#include <string>

STRATAGEMM_BEGIN

// The names of element types in kernel sources; those that the language lacks are defined in its prelude.
template <class T>
constexpr char const* kernel_type() {
    if constexpr (std::is_same_v<T, std::int8_t>)
        return "byte";
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return "int";
    else if constexpr (complex_like<T>)
        return sizeof(T) == 8 ? "complex64" : "complex128";
    else
        return type_name<T>();
}

// A letter for each element type.
template <class T>
constexpr char type_letter() {
    if constexpr (complex_like<T>)
        return sizeof(T) == 8 ? 'c' : 'z';
    else if constexpr (std::is_same_v<T, std::int8_t>)
        return 'b';
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return 'i';
    else if constexpr (std::is_same_v<T, float>)
        return 's';
    else if constexpr (std::is_same_v<T, double>)
        return 'd';
    else if constexpr (is_fp8<T>)
        return std::is_same_v<T, fp8_e4m3> ? '4' : '5';
    else
        return std::is_same_v<T, half> ? 'h' : 'w';
}

template <class In, class Out>
constexpr bool uses_double = sizeof(real_t<In>) == 8 || sizeof(real_t<Out>) == 8;

// Which element types a source is for. Sums are kept in the accumulator of In.
template <class In, class Out>
std::string kernel_types() {
    constexpr bool integer = std::is_integral_v<accumulator_t<In>>;
    auto define = [](char const* name, char const* value) {
        return std::string("#define ") + name + ' ' + value + '\n';
    };
    return define("IN", kernel_type<In>()) + define("OUT", kernel_type<Out>()) +
           define("OUT_VALUE", kernel_type<accumulator_t<Out>>()) +
           define("REAL", integer ? "uint" : kernel_type<real_t<In>>()) +
           define("COMPLEX", complex_like<In> ? "1" : "0") + define("INTEGER", integer ? "1" : "0");
}

template <class State, class T>
concept state_takes = requires(State& s, T const& x) {
    s.take(x);
};

// An epilogue as kernels see it: what epilogue.device(...) tells, as text. State is of the language:
// take(value) keeps a value for the kernel's arguments and gives its name, definitions() declares them.
template <class State>
class kernel_epilogue : public State {
public:
    template <class F>
    explicit kernel_epilogue(F const& epilogue) {
        epilogue.device(*this);
    }

    template <class... Values>
    requires(state_takes<State, Values>&&...) void operator()(char const* expression,
                                                              Values const&... values) {
        std::string const names[] = {this->take(values)..., {}}; // and one that no expression names
        body_ += "x = ";
        for (char const* c = expression; *c; ++c) {
            if (*c == '$' && c[1] >= '0' && c[1] < '0' + static_cast<int>(sizeof...(Values)))
                body_ += names[static_cast<std::size_t>(*++c - '0')];
            else
                body_ += *c;
        }
        body_ += "; ";
    }

    std::string definitions() const { return State::definitions() + "#define EPILOGUE_BODY " + body_ + '\n'; }
    // With the same text, two epilogues are the same but for their values; empty for none.
    std::string text() const { return body_.empty() ? body_ : definitions(); }

private:
    std::string body_;
};

template <class F, class Epilogue>
concept has_source = requires(F const& f, Epilogue& to) {
    f.device(to);
};

template <class In, class Out, class State>
std::string kernel_text(std::string const& prelude, char const* kernel,
                        kernel_epilogue<State> const& epilogue, std::string const& definitions) {
    return kernel_types<In, Out>() + definitions + epilogue.definitions() + prelude + kernel;
}

STRATAGEMM_END
