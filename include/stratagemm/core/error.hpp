// Errors: one description, thrown by gemm() and returned by try_gemm().
#pragma once

#include "config.hpp"

#include <exception>
#include <string>
#include <string_view>
#include <utility>

STRATAGEMM_BEGIN

enum class errc {
    shape,       // operands do not fit each other
    alias,       // C overlaps an operand it may not overlap
    null_data,   // null pointer with a non-zero size
    strides,     // two elements of C share an address
    overflow,    // a size in bytes does not fit
    memory,      // out of memory; nothing was computed
    unsupported, // this machine or build cannot do it
    argument,    // an option out of its range
    native       // the driver or runtime beneath failed; see native_code
};

class error : public std::exception {
public:
    // `layer` is a literal: it is kept, not copied.
    error(errc code, char const* layer, char const* message, long native_code = 0)
        : code_(code), layer_(layer), native_(native_code) {
        ((text_ += layer) += ": ") += message;
    }

    errc code() const noexcept { return code_; }
    std::string_view layer() const noexcept { return layer_; } // who failed: "gemm", "host", ...
    long native_code() const noexcept { return native_; }
    char const* what() const noexcept override { return text_.c_str(); } // says what to do about it

private:
    errc code_;
    char const* layer_;
    long native_;
    std::string text_;
};

// Success, or an error. Success costs one null pointer.
class [[nodiscard]] status {
public:
    status() = default;
    status(stratagemm::error e) : error_(new stratagemm::error(std::move(e))) {}
    status(status&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
    status& operator=(status&& other) noexcept {
        std::swap(error_, other.error_);
        return *this;
    }
    ~status() { delete error_; }

    explicit operator bool() const noexcept { return !error_; }
    stratagemm::error const& error() const { return *error_; }
    void or_throw() const {
        if (error_) throw *error_;
    }

private:
    stratagemm::error const* error_ = nullptr;
};

// Out of the way of the code that succeeds, and compiled once.
[[gnu::cold, gnu::noinline]] inline status failure(errc code, char const* layer, char const* message) {
    return error(code, layer, message);
}

// A value, or the reason why there is none. T is cheap to default-construct.
template <class T>
class [[nodiscard]] result {
public:
    result(T value) : value_(std::move(value)) {}
    result(stratagemm::error e) : status_(std::move(e)) {}
    result(status s) : status_(std::move(s)) {}

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
