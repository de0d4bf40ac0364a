// What CUDA devices there are, and what each can do.
#pragma once

#include "api.hpp"

#include <string>
#include <vector>

STRATAGEMM_BEGIN

struct cuda_device {
    int ordinal = 0;
    std::string name;
    int capability = 0;           // ten times the major version, plus the minor
    int units = 1;                // multiprocessors
    int driver = 0;               // the CUDA version that it is for, as 13000
    std::size_t shared_bytes = 0; // of shared memory for a block
    std::size_t global_bytes = 0;
    std::size_t cache_bytes = 0; // second level
    double bytes_per_cycle = 16; // that memory has for each multiprocessor

    // For errors: devices of one name differ by number.
    std::string title() const { return "device " + std::to_string(ordinal) + " (" + name + ")"; }
    // What kernels are compiled for. The letter: instructions that no later architecture has.
    std::string architecture() const {
        return "sm_" + std::to_string(capability) + (capability == 90 || capability / 10 == 10 ? "a" : "");
    }
};

// Bytes a second that copies reach on a family of devices, for estimates: the driver tells which links there are, and not
// how fast they are. `./dev bench panels` prints what copies reach beside these. 90: measured on H200s. Others: the same
// part of what their memory and links are built for, and not measured.
struct cuda_rates {
    double memory; // of a multiprocessor, read and written
    double host;   // from and to the host, in one direction
    double nvlink; // from another device, in one direction
};
constexpr cuda_rates cuda_rates_of(int capability) {
    if (capability >= 90) return {25e9, 45e9, 370e9};
    if (capability == 80) return {14e9, 20e9, 230e9};
    return {8e9, capability > 80 ? 20e9 : 10e9, 40e9};
}

// The device numbered `ordinal`, which there is.
inline cuda_device describe_cuda_device(int ordinal) {
    cuda_driver const& driver = cuda_driver::get();
    CUdevice id = 0;
    (void)driver.cuDeviceGet(&id, ordinal);
    auto const number = [&](CUdevice_attribute what) {
        int value = 0;
        (void)driver.cuDeviceGetAttribute(&value, what, id);
        return value;
    };
    cuda_device d;
    d.ordinal = ordinal;
    char name[256] = "";
    (void)driver.cuDeviceGetName(name, sizeof(name), id);
    d.name = name;
    d.capability = 10 * number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                   number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    d.units = number(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    (void)driver.cuDriverGetVersion(&d.driver);
    d.shared_bytes = static_cast<std::size_t>(number(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    d.cache_bytes = static_cast<std::size_t>(number(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
    (void)driver.cuDeviceTotalMem(&d.global_bytes, id);
    // Four fifths of the rate that the memory clock gives, which no device exceeds by much; 1.75 GHz is the clock of
    // the multiprocessors under load.
    double const memory = 2e3 * number(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                          number(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
    if (memory > 0 && d.units > 0) d.bytes_per_cycle = 0.8 * memory / 1.75e9 / d.units;
    return d;
}

inline int count_cuda_devices() {
    cuda_driver const& driver = cuda_driver::get();
    int count = 0;
    if (!driver.missing.empty() || driver.cuDeviceGetCount(&count) != CUDA_SUCCESS) return 0;
    return count;
}

STRATAGEMM_END
