// The sources of the kernels.
#pragma once

#include "../../device/dialect_source.hpp"
#include "epilogue.hpp"
#include "kernels/combined.cl.hpp"
#include "kernels/dialect.cl.hpp"
#include "kernels/direct.cl.hpp"
#include "kernels/narrow.cl.hpp"
#include "kernels/prelude.cl.hpp"
#include "kernels/small.cl.hpp"
#include "kernels/tiled.cl.hpp"
#include "session.hpp"

STRATAGEMM_BEGIN

template <class In, class Out, class Epilogue>
opencl_source opencl_source_of(char const* kernel, char const* body, Epilogue const& epilogue,
                               std::string const& definitions = {}) {
    std::string const prelude = std::string(opencl_elements_text) + opencl_numbers_text + opencl_product_text;
    return {kernel,
            (uses_double<In, Out> ? "#define DOUBLE 1\n" : "") +
                kernel_text<In, Out>(prelude, body, epilogue, definitions),
            uses_double<In, Out>};
}

inline opencl_source opencl_source_of(device_kernel const& k) {
    text_tables tables;
    std::string text = dialect_source(
        k, std::string(opencl_dialect_text) + opencl_elements_text + (k.write ? opencl_tables_text : ""),
        opencl_numbers_text, &tables);
    return {k.name, std::move(text), k.uses_double, std::move(tables.bytes)};
}

STRATAGEMM_END
