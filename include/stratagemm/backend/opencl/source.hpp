// Kernel sources made final: definitions, the prelude, the kernel. What comes out compiles by itself.
#pragma once

#include "epilogue.hpp"
#include "kernels/direct.cl.hpp"
#include "kernels/elementwise.cl.hpp"
#include "kernels/narrow.cl.hpp"
#include "kernels/prelude.cl.hpp"
#include "kernels/small.cl.hpp"
#include "kernels/tiled.cl.hpp"
#include "session.hpp"

STRATAGEMM_BEGIN

// A letter for each element type.
template <class T>
constexpr char opencl_letter() {
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
    else
        return std::is_same_v<T, half> ? 'h' : 'w';
}

// The part of a source that says which element types it is for. Sums are kept in the accumulator of In.
template <class In, class Out>
std::string opencl_types() {
    using Value = accumulator_t<In>;
    constexpr bool integer = std::is_integral_v<Value>;
    constexpr bool wide = sizeof(real_t<In>) == 8 || sizeof(real_t<Out>) == 8;
    auto define = [](char const* name, char const* value) {
        return std::string("#define ") + name + ' ' + value + '\n';
    };
    return define("IN", opencl_type<In>()) + define("OUT", opencl_type<Out>()) +
           define("OUT_VALUE", opencl_type<accumulator_t<Out>>()) +
           define("REAL", integer ? "uint" : opencl_type<real_t<In>>()) +
           define("COMPLEX", complex_like<In> ? "1" : "0") + define("INTEGER", integer ? "1" : "0") +
           define("DOUBLE", wide ? "1" : "0");
}

template <class In, class Out, class Epilogue>
opencl_source opencl_source_of(char const* kernel, char const* body, Epilogue const& epilogue,
                               std::string const& definitions = {}) {
    opencl_source source{kernel, opencl_types<In, Out>() + definitions,
                         sizeof(real_t<In>) == 8 || sizeof(real_t<Out>) == 8};
    epilogue.define(source.text);
    source.text += opencl_prelude_text;
    source.text += body;
    return source;
}

STRATAGEMM_END
