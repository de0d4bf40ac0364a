// OpenCL memory: a buffer and a place in it, together as good as a pointer.
#pragma once

#include "../../core/policy.hpp"
#include "api.hpp"

STRATAGEMM_BEGIN

template <class T>
struct opencl_pointer {
    cl_mem buffer = nullptr;
    index_t offset = 0; // in elements

    friend opencl_pointer operator+(opencl_pointer p, index_t n) { return {p.buffer, p.offset + n}; }

    template <class U>
    requires(std::same_as<U, T const> && !std::same_as<U, T>) operator opencl_pointer<U>() const {
        return {buffer, offset};
    }
};

struct opencl_memory {
    template <class T>
    using handle = opencl_pointer<T>;
    static constexpr char const* name = "OpenCL";

    template <class T>
    static void const* buffer(opencl_pointer<T> p) {
        return p.buffer;
    }
    template <class T>
    static std::intptr_t address(opencl_pointer<T> p) {
        return p.offset * static_cast<index_t>(sizeof(T));
    }
    // How many bytes there are from the start of the buffer: views have to stay within.
    template <class T>
    static index_t capacity(opencl_pointer<T> p) {
        std::size_t bytes = 0;
        (void)clGetMemObjectInfo(p.buffer, CL_MEM_SIZE, sizeof(bytes), &bytes, nullptr);
        return static_cast<index_t>(bytes);
    }

    template <class T>
    static opencl_pointer<T> cast(opencl_pointer<std::byte> p) {
        return {p.buffer, p.offset / static_cast<index_t>(sizeof(T))};
    }
    template <class T>
    static opencl_pointer<T> writable(opencl_pointer<T const> p) {
        return {p.buffer, p.offset};
    }
    template <class Footprint>
    static auto& share(Footprint& f) {
        return f.device;
    }
};

// Commands that use a buffer keep it until they have run, so that an arena may go as soon as they are queued.
using opencl_arena = linear_arena<opencl_memory>;

template <class T>
using opencl_view = view<T, opencl_memory>;

STRATAGEMM_END
