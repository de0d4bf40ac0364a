// CUDA memory: a pointer that only a device may follow.
#pragma once

#include "../../core/policy.hpp"
#include "api.hpp"

#include <memory>

STRATAGEMM_BEGIN

// A separate type, so that a pointer to the host is not taken for a pointer to a device.
template <class T>
struct cuda_pointer {
    T* address = nullptr;

    friend cuda_pointer operator+(cuda_pointer p, index_t n) { return {p.address + n}; }
    friend bool operator==(cuda_pointer, cuda_pointer) = default;
    explicit operator bool() const { return address != nullptr; }

    template <class U>
    requires(std::same_as<U, T const> && !std::same_as<U, T>) operator cuda_pointer<U>() const {
        return {address};
    }
};

struct cuda_memory {
    template <class T>
    using handle = cuda_pointer<T>;
    static constexpr char const* name = "CUDA";

    template <class T>
    static void const* buffer(cuda_pointer<T>) {
        return nullptr;
    }
    template <class T>
    static std::intptr_t address(cuda_pointer<T> p) {
        return reinterpret_cast<std::intptr_t>(p.address);
    }
    template <class T>
    static cuda_pointer<T> cast(cuda_pointer<std::byte> p) {
        return {reinterpret_cast<T*>(p.address)};
    }
    template <class T>
    static cuda_pointer<T> writable(cuda_pointer<T const> p) {
        return {const_cast<T*>(p.address)};
    }
    template <class Footprint>
    static auto& share(Footprint& f) {
        return f.device;
    }
};

// Copies share the event, which is destroyed with the last copy, in the context of its device.
using cuda_event = std::shared_ptr<CUevent_st>;

using cuda_arena = linear_arena<cuda_memory>;

template <class T>
using cuda_view = view<T, cuda_memory>;

STRATAGEMM_END
