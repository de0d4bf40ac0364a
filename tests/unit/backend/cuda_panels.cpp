// Panels on several CUDA devices: on the stand-in, of which some do not reach each other's memory, or on what there is.
#include "../structure/panels.hpp"

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/backend/cuda.hpp>

#include <cstdlib>

namespace sg = stratagemm;
using sg::index_t;

static_assert(sg::peer_leaf<sg::cuda_operations, sg::cuda_memory>);

namespace {

std::vector<sg::cuda> all_devices() {
    std::vector<sg::cuda> all;
    for (auto const& d : sg::cuda::devices()) all.push_back({.device = d.ordinal});
    return all;
}

} // namespace

TEST_CASE("CUDA: products of panels on all devices, and on one device twice, are those of the reference") {
    auto const all = all_devices();
    CHECK(panel_tests::wrong_products<float>(all) == 0);
    CHECK(panel_tests::wrong_products<float>(std::vector<sg::cuda>(2)) == 0);
}
