// What a backend compiles for a kernel of the dialect, and the key by which it finds what it has compiled. Apart from
// dialect.hpp, which layers include: programs without a device do not pay for compiling this.
#pragma once

#include "dialect.hpp"

STRATAGEMM_BEGIN

// The key of a compiled kernel. Every launch makes one, so it holds addresses instead of long texts.
struct dialect_key {
    static_text text;
    std::uintptr_t types, write; // the addresses of functions
    int items;
    bool uses_double, exact;
    text_numbers numbers;
    std::string name, definitions; // copies, because these may change

    explicit dialect_key(device_kernel const& k)
        : text(k.text), types(reinterpret_cast<std::uintptr_t>(k.types)),
          write(reinterpret_cast<std::uintptr_t>(k.write)), items(k.items), uses_double(k.uses_double),
          exact(k.exact), numbers(k.numbers), name(k.name), definitions(k.definitions) {}
    friend auto operator<=>(dialect_key const&, dialect_key const&) = default;
};

inline std::string dialect_head(device_kernel const& k) {
    std::string head = "#define ITEMS " + std::to_string(k.items) + '\n';
    if (k.uses_double) head += "#define DOUBLE 1\n";
    if (k.exact) head += "#define EXACT 1\n";
    return head;
}
// `language` defines the words and the element types; `numbers` depends on the kernel's definitions; tables go into
// `apart`, or into the text if that is null.
inline std::string dialect_source(device_kernel const& k, std::string const& language, char const* numbers,
                                  text_tables* apart = nullptr) {
    return dialect_head(k) + language + (k.types ? k.types() : std::string()) + k.definitions + numbers +
           dialect_text + k.text.get() + (k.write ? k.write(k.numbers, apart) : std::string());
}

STRATAGEMM_END
