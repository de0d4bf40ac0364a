// The values of an epilogue as members of a struct, which is the last argument of a kernel.
#pragma once

#include "../../device/source.hpp"
#include "memory.hpp"

#include <array>
#include <cstring>

STRATAGEMM_BEGIN

// Value: the type that the epilogue is called with. Pointers may be to elements of any type.
template <class Value>
class cuda_state {
public:
    template <class T>
    requires element<std::remove_const_t<T>> std::string take(cuda_pointer<T> p) {
        return '(' + keep(std::string(kernel_type<std::remove_const_t<T>>()) + " const *", p.address) + ')';
    }
    template <class T>
    requires std::convertible_to<T, Value> std::string take(T const& number) {
        return keep(kernel_type<Value>(), static_cast<Value>(number));
    }
    std::string definitions() const { return "#define EPILOGUE_MEMBERS " + members_ + '\n'; }

    static constexpr std::size_t most = 256;
    using state = std::array<std::byte, most>;
    state const& bytes() const { return bytes_; }
    status check() const {
        if (!fits())
            return error(errc::unsupported,
                         "cuda: an epilogue has more than 255 bytes of state; use fewer steps");
        return {};
    }

private:
    bool fits() const { return used_ < most; } // the kernel's ends with a byte of its own
    template <class T>
    std::string keep(std::string const& type, T const& value) {
        std::size_t const at = (used_ + alignof(T) - 1) / alignof(T) * alignof(T);
        used_ = at + sizeof(T);
        if (fits()) std::memcpy(bytes_.data() + at, &value, sizeof(T));
        std::string const name = 's' + std::to_string(count_++);
        members_ += type + ' ' + name + "; ";
        return "state." + name;
    }

    std::string members_;
    state bytes_{};
    std::size_t used_ = 0;
    int count_ = 0;
};

template <class Value>
using cuda_epilogue = kernel_epilogue<cuda_state<Value>>;

STRATAGEMM_END
