// Plain values one after another, for what a call has to look at before it runs. Growing it throws nothing:
// it says whether there was memory, so that try_gemm can return errc::memory.
#pragma once

#include "config.hpp"

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

STRATAGEMM_BEGIN

template <class T>
class list {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

public:
    list() = default;
    list(list&& other) noexcept
        : first_(std::exchange(other.first_, nullptr)), size_(std::exchange(other.size_, 0)),
          room_(std::exchange(other.room_, 0)) {}
    list& operator=(list&&) = delete;
    ~list() { ::operator delete(first_); }

    void swap(list& other) noexcept {
        std::swap(first_, other.first_), std::swap(size_, other.size_), std::swap(room_, other.room_);
    }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* data() { return first_; }
    T const* data() const { return first_; }
    T& operator[](std::size_t i) { return first_[i]; }
    T const& operator[](std::size_t i) const { return first_[i]; }
    T* begin() { return first_; }
    T* end() { return first_ + size_; }
    T const* begin() const { return first_; }
    T const* end() const { return first_ + size_; }

    void clear() { size_ = 0; }
    [[nodiscard]] bool reserve(std::size_t count) {
        if (count <= room_) return true;
        if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) return false;
        void* const larger = ::operator new(count * sizeof(T), std::nothrow);
        if (!larger) return false;
        if (size_ > 0) __builtin_memcpy(larger, first_, size_ * sizeof(T));
        ::operator delete(first_);
        first_ = static_cast<T*>(larger), room_ = count;
        return true;
    }
    [[nodiscard]] bool append(T const& x) { return replace(size_, size_, x); }
    // `count` values; those that are new are zeros.
    [[nodiscard]] bool resize(std::size_t count) {
        if (!reserve(count)) return false;
        if (count > size_)
            __builtin_memset(static_cast<void*>(first_ + size_), 0, (count - size_) * sizeof(T));
        size_ = count;
        return true;
    }
    // One value instead of [from, to), which may be none.
    [[nodiscard]] bool replace(std::size_t from, std::size_t to, T const& x) {
        T const copy = x; // which may be one of these
        if (from == to && size_ == room_ && !reserve(2 * size_ + 8)) return false;
        if (to != from + 1 && to < size_)
            __builtin_memmove(static_cast<void*>(first_ + from + 1), first_ + to, (size_ - to) * sizeof(T));
        first_[from] = copy;
        size_ = size_ + 1 - (to - from);
        return true;
    }

private:
    T* first_ = nullptr;
    std::size_t size_ = 0, room_ = 0;
};

STRATAGEMM_END
