// Epilogues as kernels see them: what epilogue.device(...) tells, as source and as arguments.
#pragma once

#include "memory.hpp"

#include <array>
#include <cstring>

STRATAGEMM_BEGIN

// The names of types in kernel sources.
template <class T>
constexpr char const* cuda_type() {
    if constexpr (std::is_same_v<T, std::int8_t>)
        return "signed char";
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return "int";
    else if constexpr (complex_like<T>)
        return sizeof(T) == 8 ? "complex<float>" : "complex<double>";
    else
        return type_name<T>();
}

template <class T>
constexpr bool is_cuda_values = false;
template <class T>
constexpr bool is_cuda_values<cuda_pointer<T>> = element<std::remove_const_t<T>>;
template <class T, class Value>
concept cuda_state_for = std::convertible_to<T, Value> || is_cuda_values<T>;

// Value: the type that the epilogue is called with. Its state is numbers of that type, or pointers to elements.
template <class Value>
class cuda_epilogue {
public:
    template <class F>
    explicit cuda_epilogue(F const& epilogue) {
        epilogue.device(*this);
    }

    template <class... State>
    requires(cuda_state_for<State, Value>&&...) void operator()(char const* expression,
                                                                State const&... state) {
        std::array<std::string, sizeof...(State)> const names{take(state)...};
        body_ += "x = ";
        for (char const* c = expression; *c; ++c) {
            if (*c == '$' && c[1] >= '0' && static_cast<std::size_t>(c[1] - '0') < names.size())
                body_ += names[static_cast<std::size_t>(*++c - '0')];
            else
                body_ += *c;
        }
        body_ += "; ";
    }

    // With the same text, two epilogues are the same but for their state.
    std::string text() const { return body_.empty() ? body_ : members_ + '|' + body_; }

    // What the prelude asks for.
    void define(std::string& source) const {
        source += "#define EPILOGUE_MEMBERS " + members_ + "\n#define EPILOGUE_BODY " + body_ + '\n';
    }

    static constexpr std::size_t most = 256; // bytes of state
    using state = std::array<std::byte, most>;
    state const& bytes() const { return bytes_; }
    bool fits() const { return used_ <= most; }

private:
    template <class T>
    std::string keep(std::string const& type, T const& value) {
        std::size_t const at = (used_ + alignof(T) - 1) / alignof(T) * alignof(T);
        used_ = at + sizeof(T);
        if (fits()) std::memcpy(bytes_.data() + at, &value, sizeof(T));
        std::string const name = 's' + std::to_string(count_++);
        members_ += type + ' ' + name + "; ";
        return "state." + name;
    }
    template <class T>
    std::string take(cuda_pointer<T> p) {
        using E = std::remove_const_t<T>;
        return '(' + keep(std::string(cuda_type<E>()) + " const *", p.address) + ')';
    }
    template <class T>
    std::string take(T const& number) {
        return keep(cuda_type<Value>(), static_cast<Value>(number));
    }

    std::string body_, members_;
    state bytes_{};
    std::size_t used_ = 0;
    int count_ = 0;
};

template <class F, class Value>
concept cuda_epilogue_for = requires(F const& f, cuda_epilogue<Value>& to) {
    f.device(to);
};

STRATAGEMM_END
