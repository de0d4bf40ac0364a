// Errors: one description, thrown by gemm() and returned by try_gemm().
#pragma once

#include "config.hpp"

#ifndef __cpp_exceptions
#    include <cstdio>
#    include <cstdlib>
#endif
#include <new>
#include <string_view>
#include <utility>

STRATAGEMM_BEGIN

enum class errc : unsigned char {
    shape,       // operands do not fit each other
    alias,       // C overlaps an operand it may not overlap
    null_data,   // null pointer with a non-zero size
    strides,     // two elements of C share an address
    overflow,    // a size in bytes does not fit
    memory,      // out of memory; nothing was computed
    unsupported, // this machine or build cannot do it
    argument,    // an option out of its range
    native,      // the driver or runtime beneath failed; see native_code
    verification // a result was found to be wrong; C is not to be used
};

// Making, copying and moving one throws nothing.
class error : public std::exception {
public:
    // `text` is a literal, "layer: what is wrong and what to do about it". It is kept, not copied.
    error(errc code, char const* text, long native_code = 0) noexcept
        : is_{text, static_cast<int>(native_code), code, false} {}
    // A message that was put together. It is copied; if there is no memory for a copy, the text says that
    // instead.
    error(errc code, std::string_view layer, std::string_view message, long native_code = 0) noexcept
        : error(code, "stratagemm: an error occurred, and there was no memory to describe it", native_code) {
        copy(layer, message);
    }
    error(error const& other) noexcept : std::exception(other), is_(other.is_) {
        if (is_.shared) __atomic_add_fetch(uses(), 1, __ATOMIC_RELAXED);
    }
    error(error&& other) noexcept : is_(other.is_) { other.is_.text = nullptr, other.is_.shared = false; }
    error& operator=(error other) noexcept {
        std::swap(is_, other.is_);
        return *this;
    }
    ~error() override {
        if (is_.shared) release();
    }

    errc code() const noexcept { return is_.code; }
    // Who failed: "gemm", "host", ...
    std::string_view layer() const noexcept {
        std::string_view const text = what();
        return text.substr(0, text.find(": "));
    }
    long native_code() const noexcept { return is_.native; }
    char const* what() const noexcept override { return is_.text ? is_.text : ""; }

private:
    // A copied text follows the number of errors that share it.
    int* uses() const noexcept { return reinterpret_cast<int*>(const_cast<char*>(is_.text)) - 1; }
    [[gnu::cold, gnu::noinline]] void copy(std::string_view layer, std::string_view message) noexcept {
        std::size_t const size = layer.size() + 2 + message.size();
        auto* const block = static_cast<char*>(::operator new(sizeof(int) + size + 1, std::nothrow));
        if (!block) return;
        char* const to = block + sizeof(int);
        std::char_traits<char>::copy(to, layer.data(), layer.size());
        to[layer.size()] = ':', to[layer.size() + 1] = ' ';
        std::char_traits<char>::copy(to + layer.size() + 2, message.data(), message.size());
        to[size] = '\0';
        is_.text = to, is_.shared = true;
        *uses() = 1;
    }
    [[gnu::cold, gnu::noinline]] void release() noexcept {
        if (__atomic_sub_fetch(uses(), 1, __ATOMIC_ACQ_REL) == 0) ::operator delete(uses());
    }

    // One object, since std::swap of four types is a quarter of a MiB for the compiler.
    struct {
        char const* text;
        int native;
        errc code;
        bool shared; // the text is a copy
    } is_;
};

// How gemm, constructors and views fail. A program without exceptions ends, with the message on stderr;
// try_gemm does not come here.
[[noreturn, gnu::cold, gnu::noinline]] inline void raise(error const& e) {
#ifdef __cpp_exceptions
    throw e;
#else
    std::fprintf(stderr, "%s\n", e.what());
    std::abort();
#endif
}

// Success, or an error. Success costs one null pointer; what an error takes is out of the way of the code
// that succeeds.
class [[nodiscard]] status {
public:
    status() noexcept = default;
    [[gnu::cold, gnu::noinline]] status(stratagemm::error e) noexcept
        : error_(new (std::nothrow) stratagemm::error(std::move(e))) {
        if (!error_) error_ = &no_memory();
    }
    status(status&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
    // Nothing is returned: nvcc would warn that a status is discarded (#2810-D).
    void operator=(status&& other) noexcept { std::swap(error_, other.error_); }
    ~status() {
        if (error_) release();
    }

    explicit operator bool() const noexcept { return !error_; }
    stratagemm::error const& error() const noexcept { return *error_; }
    void or_throw() const {
        if (error_) raise(*error_);
    }

private:
    static stratagemm::error const& no_memory() {
        static stratagemm::error const e(
            errc::memory, "stratagemm: an error occurred, and there was no memory to describe it");
        return e;
    }
    [[gnu::cold, gnu::noinline]] void release() noexcept {
        if (error_ != &no_memory()) delete error_;
    }

    stratagemm::error const* error_ = nullptr;
};

// Out of the way of the code that succeeds, and compiled once.
[[gnu::cold, gnu::noinline]] inline status failure(errc code, char const* text) { return error(code, text); }
[[gnu::cold, gnu::noinline]] inline status failure(errc code, std::string_view layer,
                                                   std::string_view message) {
    return error(code, layer, message);
}

// f(), a status or a result; errc::memory where f finds no memory and throws, as a std::string does.
template <class F>
auto or_no_memory(F&& f) -> decltype(f()) {
#ifdef __cpp_exceptions
    try {
        return f();
    } catch (std::bad_alloc const&) {
        return failure(errc::memory, "stratagemm: no host memory is left");
    }
#else
    return f();
#endif
}

// A value, or the reason why there is none. T is cheap to default-construct.
template <class T>
class [[nodiscard]] result {
public:
    result(T value) : value_(std::move(value)) {}
    result(stratagemm::error e) : status_(std::move(e)) {}
    result(status&& s) : status_(std::move(s)) {} // a reference, or nvcc would copy what a function returns

    explicit operator bool() const noexcept { return static_cast<bool>(status_); }
    T& operator*() { return value_; }
    T* operator->() { return &value_; }
    stratagemm::error const& error() const { return status_.error(); }
    void or_throw() const { status_.or_throw(); }
    status take_status() { return std::move(status_); }

private:
    T value_{};
    status status_;
};

STRATAGEMM_END
