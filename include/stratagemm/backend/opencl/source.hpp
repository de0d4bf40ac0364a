// The sources of the kernels.
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

template <class In, class Out, class Epilogue>
opencl_source opencl_source_of(char const* kernel, char const* body, Epilogue const& epilogue,
                               std::string const& definitions = {}) {
    return {kernel, kernel_text<In, Out>(opencl_prelude_text, body, epilogue, definitions),
            uses_double<In, Out>};
}

STRATAGEMM_END
