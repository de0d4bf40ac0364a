// The structures of DLPack, by which libraries hand arrays to each other: capsules named "dltensor" hold a
// managed_tensor, those named "dltensor_versioned" a versioned_tensor.
#pragma once

#include <cstdint>
#include <memory>

namespace stratagemm_python::dlpack {

enum device_kind : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };
struct device {
    std::int32_t kind, number;
};
enum code : std::uint8_t { integer = 0, floating = 2, bfloat = 4, complex = 5 };
struct element {
    std::uint8_t code, bits;
    std::uint16_t lanes;
};
struct array {
    void* data;
    device where;
    std::int32_t dimensions;
    element type;
    std::int64_t* sides;
    std::int64_t* strides; // in elements; null: in row-major order
    std::uint64_t offset;  // in bytes
};
struct managed_tensor {
    array tensor;
    void* context;
    void (*destroy)(managed_tensor*);
};
struct version {
    std::uint32_t major, minor;
};
inline constexpr version ours{1, 1};
enum flag : std::uint64_t { read_only = 1, is_copy = 2 };
struct versioned_tensor {
    version is;
    void* context;
    void (*destroy)(versioned_tensor*);
    std::uint64_t flags;
    array tensor;
};

// What a library of arrays offers to consumers in C (DLPack 1.3): arrays are exported and imported without waiting and
// without a call of Python. Its types have it as the attribute exchange_attribute, in a capsule. Functions return 0, or
// another number with an exception of Python set.
struct exchange {
    version is;
    exchange const* earlier; // the functions of another major version
    void* allocate;
    int (*take)(void* object, versioned_tensor** taken);
    int (*give)(versioned_tensor* given, void** object);
    void* borrow;
    int (*stream)(std::int32_t device_kind, std::int32_t device, void** current);
};
inline constexpr char const* exchange_attribute = "__dlpack_c_exchange_api__";
inline constexpr char const* exchange_name = "dlpack_exchange_api";

// On which stream of a CUDA device a call works: a producer is told to have its work done there first.
struct stream {
    bool is_given = false;
    std::intptr_t number = 1; // 1 is the legacy default stream, 2 that of the thread, and others are handles
    // Keeps the producer's stream alive where the producer would end it: memory is given back on it, and others wait for it.
    std::shared_ptr<void> kept{};
};

inline constexpr char const* name = "dltensor";
inline constexpr char const* used_name = "used_dltensor";
inline constexpr char const* versioned_name = "dltensor_versioned";
inline constexpr char const* used_versioned_name = "used_dltensor_versioned";

} // namespace stratagemm_python::dlpack
