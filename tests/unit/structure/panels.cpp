// Panels in host memory: the "devices" are threads, and so all of it but copies between devices is tried anywhere.
#include "panels.hpp"

#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;
using sg::index_t;

TEST_CASE("panels: products over any number of devices are those of the reference") {
    for (std::size_t const count : {1u, 2u, 3u, 5u}) {
        CAPTURE(count);
        std::vector<sg::host> const devices(count, sg::host{.threads = 1});
        CHECK(panel_tests::wrong_products<float>(devices) == 0);
        CHECK(panel_tests::wrong_products<double>(devices) == 0);
    }
}
