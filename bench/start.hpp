// What the first product of a process takes: milliseconds from main() until it is there, and of these what the driver
// took to start, which it does when first asked anything, and every program pays; then what finding the device, bringing
// the operands there and the product took. Run it twice: the second finds the compiled kernel on disk.
#pragma once

#include <stratagemm/gemm.hpp>

#include <chrono>
#include <cstdio>

namespace sg = stratagemm;

// wake() asks the driver for the first time; find() gives a policy; then(policy) goes on when the product is there.
template <class Wake, class Find, class Then>
int first_product(Wake&& wake, Find&& find, Then&& then) try {
    auto const start = std::chrono::steady_clock::now();
    auto const since = [&] {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    };
    wake();
    double const awake = since();
    auto const device = find();
    if (sg::status const s = device.ready(); !s) {
        std::printf("skipped: %s\n", s.error().what());
        return 77;
    }
    double const found = since();
    using on_device = typename std::remove_cvref_t<decltype(device)>::template matrix<float>;
    sg::matrix<float> const ones(256, 256, [](sg::index_t, sg::index_t) { return 1; });
    on_device const a(device, ones), b(device, ones);
    on_device c(device, 256, 256);
    double const brought = since();
    sg::gemm(device, a, b, c);
    device.synchronize().or_throw();
    double const done = since();
    sg::matrix<float> result(256, 256);
    c.download(result);
    std::printf("%s: first product %.1f ms after the start: driver %.1f, device %.1f, operands %.1f, product "
                "%.1f ms%s\n",
                device.where().name.c_str(), done, awake, found - awake, brought - found, done - brought,
                result(255, 255) == 256 ? "" : " WRONG");
    then(device);
    return 0;
} catch (sg::error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
