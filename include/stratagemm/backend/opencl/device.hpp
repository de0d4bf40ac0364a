// What OpenCL devices there are, and what each can do.
#pragma once

#include "api.hpp"

#include <string>
#include <vector>

STRATAGEMM_BEGIN

enum class opencl_family { gfx803, gcn, rdna, nvidia, intel, cpu, other };

// The bytes of memory that a compute unit moves in a second, roughly.
inline double bytes_of_unit(opencl_family family) {
    switch (family) {
    case opencl_family::gfx803:
    case opencl_family::gcn: return 5e9;
    case opencl_family::rdna: return 8e9;
    case opencl_family::nvidia: return 10e9;
    case opencl_family::intel: return 1e9;
    case opencl_family::cpu:
    case opencl_family::other: break;
    }
    return 2e9;
}

struct opencl_device {
    cl_platform_id platform = nullptr;
    cl_device_id id = nullptr;
    std::string name, vendor, version, driver, platform_name;
    cl_device_type type = 0;
    opencl_family family = opencl_family::other;
    bool has_double = false;
    std::size_t work_group = 0;   // work-items in a group, at most
    std::size_t local_bytes = 0;  // of local memory for a group
    std::size_t global_bytes = 0; // of global memory
    std::size_t buffer_bytes = 0; // in one buffer
    int compute_units = 1;
    double clock = 0; // of a compute unit, per second
};

// A string or a number that the device or platform has to tell.
template <class Id, class Info>
std::string opencl_text(cl_int(CL_API_CALL* get)(Id, Info, std::size_t, void*, std::size_t*), Id id,
                        Info what) {
    std::size_t bytes = 0;
    if (get(id, what, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
    std::string text(bytes, '\0');
    if (get(id, what, bytes, text.data(), nullptr) != CL_SUCCESS) return {};
    while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
    return text;
}
template <class T>
T opencl_number(cl_device_id id, cl_device_info what) {
    T value{};
    (void)clGetDeviceInfo(id, what, sizeof(value), &value, nullptr);
    return value;
}

// By name. Mesa writes "AMD Radeon RX 590 (polaris10, LLVM 15.0.6, ...)" and ROCm "gfx803"; AMD's own drivers
// say "Ellesmere".
inline opencl_family family_of(opencl_device const& d) {
    std::string text;
    for (char const c : d.name + ' ' + d.vendor) text += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    auto any_of = [&](std::initializer_list<char const*> words) {
        for (char const* word : words)
            if (text.find(word) != std::string::npos) return true;
        return false;
    };
    if (d.type & CL_DEVICE_TYPE_CPU) return opencl_family::cpu;
    if (any_of({"nvidia"})) return opencl_family::nvidia;
    if (any_of({"gfx803", "polaris", "ellesmere", "baffin", "lexa", "rx 470", "rx 480", "rx 550", "rx 560",
                "rx 570", "rx 580", "rx 590"}))
        return opencl_family::gfx803;
    if (any_of({"gfx10", "gfx11", "gfx12", "navi"})) return opencl_family::rdna;
    if (any_of({"amd", "advanced micro devices", "radeon"})) return opencl_family::gcn;
    if (any_of({"intel"})) return opencl_family::intel;
    return opencl_family::other;
}

inline opencl_device describe_device(cl_device_id id) {
    opencl_device d;
    d.id = id;
    d.platform = opencl_number<cl_platform_id>(id, CL_DEVICE_PLATFORM);
    d.name = opencl_text(clGetDeviceInfo, id, cl_device_info{CL_DEVICE_NAME});
    d.vendor = opencl_text(clGetDeviceInfo, id, cl_device_info{CL_DEVICE_VENDOR});
    d.version = opencl_text(clGetDeviceInfo, id, cl_device_info{CL_DEVICE_VERSION});
    d.driver = opencl_text(clGetDeviceInfo, id, cl_device_info{CL_DRIVER_VERSION});
    d.platform_name = opencl_text(clGetPlatformInfo, d.platform, cl_platform_info{CL_PLATFORM_VERSION});
    d.type = opencl_number<cl_device_type>(id, CL_DEVICE_TYPE);
    d.has_double = opencl_number<cl_device_fp_config>(id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
    d.work_group = opencl_number<std::size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    d.local_bytes = static_cast<std::size_t>(opencl_number<cl_ulong>(id, CL_DEVICE_LOCAL_MEM_SIZE));
    d.global_bytes = static_cast<std::size_t>(opencl_number<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE));
    d.buffer_bytes = static_cast<std::size_t>(opencl_number<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
    d.compute_units = static_cast<int>(opencl_number<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS));
    d.clock = 1e6 * static_cast<double>(opencl_number<cl_uint>(id, CL_DEVICE_MAX_CLOCK_FREQUENCY));
    d.family = family_of(d);
    if (d.family == opencl_family::gfx803) { // what the hardware has, whatever the driver says
        if (d.work_group > 256) d.work_group = 256;
        if (d.local_bytes > 32768) d.local_bytes = 32768;
    }
    return d;
}

// Every device of every platform.
inline std::vector<opencl_device> opencl_devices() {
    std::vector<opencl_device> all;
    cl_uint platform_count = 0;
    if (clGetPlatformIDs(0, nullptr, &platform_count) != CL_SUCCESS) return all;
    std::vector<cl_platform_id> platforms(platform_count);
    if (platform_count == 0 || clGetPlatformIDs(platform_count, platforms.data(), nullptr) != CL_SUCCESS)
        return all;
    for (cl_platform_id const platform : platforms) {
        cl_uint count = 0;
        if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS || count == 0)
            continue;
        std::vector<cl_device_id> ids(count);
        if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr) != CL_SUCCESS) continue;
        for (cl_device_id const id : ids) all.push_back(describe_device(id));
    }
    return all;
}

STRATAGEMM_END
