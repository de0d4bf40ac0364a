// Copies of blocks between host memory and a device's.
//
// A copy engine moves lines without gaps that follow each other at a pitch: the rows of a matrix, or its
// columns. What lies so on both sides, in one order, goes across as it is. Anything else, and what the engine
// does not read itself, is packed into two pieces of pinned memory in turn, of which one is filled, or
// emptied, while the other travels.
#pragma once

#include "../core/policy.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

STRATAGEMM_BEGIN

// Host memory that a device reads and writes itself, given back with the last copy of this object. The last one
// has to live until the copies that use the memory are done.
class pinned_block {
public:
    pinned_block() = default;
    pinned_block(std::shared_ptr<std::byte> data, std::size_t size) : data_(std::move(data)), size_(size) {}

    std::byte* data() const { return data_.get(); }
    std::size_t size() const { return size_; }

private:
    std::shared_ptr<std::byte> data_;
    std::size_t size_ = 0;
};

// Where something is in device memory, as a space tells it: a buffer, if the space has buffers, and a byte
// address.
struct device_place {
    void const* buffer;
    std::intptr_t address;
};
template <class V>
device_place place_in_device(V const& v) {
    return {V::space::buffer(v.data), V::space::address(v.data)};
}

// What a copy engine does at once, in bytes: lines, and how far apart they begin on each side.
struct line_copy {
    std::size_t lines = 1, bytes = 0, host_pitch = bytes, device_pitch = bytes;
};

// Whether a matrix consists of lines without gaps, each behind the one before it.
template <class V>
bool has_lines(V const& v, bool by_rows) {
    index_t const length = by_rows ? v.cols : v.rows, lines = by_rows ? v.rows : v.cols;
    index_t const unit = by_rows ? v.col_stride : v.row_stride, pitch = by_rows ? v.row_stride : v.col_stride;
    return (length == 1 || unit == 1) && (lines == 1 || pitch >= length);
}

// How two matrices of one shape, not empty, are copied by lines. None if they lie in different orders, or do not
// consist of lines.
template <class Host, class Device>
std::optional<line_copy> lines_between(Host const& host, Device const& device) {
    bool const by_rows = has_lines(host, true) && has_lines(device, true);
    if (!by_rows && !(has_lines(host, false) && has_lines(device, false))) return {};
    auto const bytes = [](index_t count) {
        return static_cast<std::size_t>(count) * sizeof(typename Host::value_type);
    };
    auto const pitch_of = [&](auto const& v) { return bytes(by_rows ? v.row_stride : v.col_stride); };
    std::size_t const lines = static_cast<std::size_t>(by_rows ? host.rows : host.cols),
                      line = bytes(by_rows ? host.cols : host.rows);
    bool const gaps = lines > 1 && (pitch_of(host) != line || pitch_of(device) != line);
    return gaps ? line_copy{lines, line, pitch_of(host), pitch_of(device)} : line_copy{1, lines * line};
}

template <class T, class Space>
view<T, Space> without_gaps(typename Space::template handle<T> data, index_t rows, index_t cols,
                            bool by_rows) {
    return {data, rows, cols, by_rows ? cols : 1, by_rows ? 1 : rows};
}

// Elements as they are, within the host's memory.
template <class From, class To>
void copy_on_host(view<From> const& from, view<To> const& to) {
    if (auto const x = lines_between(from, to)) {
        for (std::size_t i = 0; i < x->lines; ++i)
            __builtin_memcpy(reinterpret_cast<char*>(to.data) + i * x->device_pitch,
                             reinterpret_cast<char const*>(from.data) + i * x->host_pitch, x->bytes);
        return;
    }
    bool const by_rows = magnitude(to.col_stride) <= magnitude(to.row_stride);
    index_t const lines = by_rows ? to.rows : to.cols, length = by_rows ? to.cols : to.rows;
    index_t const in = by_rows ? from.row_stride : from.col_stride,
                  step = by_rows ? from.col_stride : from.row_stride;
    index_t const out = by_rows ? to.row_stride : to.col_stride,
                  to_step = by_rows ? to.col_stride : to.row_stride;
    for (index_t l = 0; l < lines; ++l)
        for (index_t x = 0; x < length; ++x) to.data[l * out + x * to_step] = from.data[l * in + x * step];
}

// Two pieces of pinned memory. They stay for the next copy, of any thread and queue of the device; there are
// as many pairs as were in use at a time.
template <class Event>
struct transfer_pieces {
    static constexpr std::size_t bytes = std::size_t{4} << 20; // of a piece

    pinned_block memory;
    std::array<Event, 2> done{}; // has happened when what the piece was used for last is done
    std::size_t last = 0;

    std::size_t take_next() { return last = 1 - last; }
    std::byte* place(std::size_t which) const { return memory.data() + which * bytes; }
};
template <class Event>
class transfer_pool {
public:
    using pieces = std::unique_ptr<transfer_pieces<Event>>;

    template <class Queue>
    result<pieces> take(Queue const& queue) {
        {
            std::lock_guard const lock(mutex_);
            if (!idle_.empty()) {
                auto own = std::move(idle_.back());
                idle_.pop_back();
                return result<pieces>(std::move(own));
            }
            idle_.reserve(made_ + 1); // so that giving back takes no memory
            ++made_;
        }
        constexpr std::size_t both = 2 * transfer_pieces<Event>::bytes;
        auto own = std::make_unique<transfer_pieces<Event>>();
        if (auto pinned = queue.pin(both))
            own->memory = std::move(*pinned);
        else if (auto* const other = new (std::nothrow) std::byte[both]) // slower
            own->memory = {std::shared_ptr<std::byte>(other, std::default_delete<std::byte[]>()), both};
        else
            return pinned.take_status();
        return result<pieces>(std::move(own));
    }
    void give_back(pieces own) {
        std::lock_guard const lock(mutex_);
        idle_.push_back(std::move(own));
    }

private:
    std::mutex mutex_;
    std::vector<pieces> idle_;
    std::size_t made_ = 0; // at most: one that could not be made counts
};

// What a copy asks of a queue:
//   reads_itself(host)            whether the device moves what lies there without pieces
//   send(line_copy, host, place)  queued; and fetch(line_copy, place, host)
//   pool()                        of pieces
//   pin(bytes), record(), synchronize(), synchronize(event)   as of a queued_leaf (core/leaf.hpp)
//
// f(i, j, rows, cols) for parts of a matrix that fit in a piece: several lines, or a part of one.
template <class F>
status each_part(index_t rows, index_t cols, bool by_rows, index_t most, F&& f) {
    index_t const lines = by_rows ? rows : cols, length = by_rows ? cols : rows;
    index_t const width = length < most ? length : most, height = most / width;
    for (index_t l = 0; l < lines; l += height)
        for (index_t x = 0; x < length; x += width) {
            index_t const h = lines - l < height ? lines - l : height,
                          w = length - x < width ? length - x : width;
            if (status s = by_rows ? f(l, x, h, w) : f(x, l, w, h); !s) return s;
        }
    return {};
}

// f(pieces), after which they are there for others; after an error nothing is on its way from or to them.
template <class Queue, class F>
status with_pieces(Queue const& queue, F&& f) {
    auto pieces = queue.pool().take(queue);
    if (!pieces) return pieces.take_status();
    status s = f(**pieces);
    if (!s) (void)queue.synchronize();
    queue.pool().give_back(std::move(*pieces));
    return s;
}

// A matrix with these sides, to memory in lines by_rows or not. pack(i, j, m, n, piece) fills a piece, send
// likewise queues its copy. What is packed has been read when this returns.
template <class Queue, class Pack, class Send>
status send_in_pieces(Queue const& queue, index_t rows, index_t cols, bool by_rows, std::size_t element_bytes,
                      Pack&& pack, Send&& send) {
    return with_pieces(queue, [&](auto& pieces) {
        auto const most = static_cast<index_t>(pieces.bytes / element_bytes);
        return each_part(rows, cols, by_rows, most,
                         [&](index_t i, index_t j, index_t m, index_t n) -> status {
                             std::size_t const x = pieces.take_next();
                             if (status s = queue.synchronize(pieces.done[x]); !s) return s;
                             pack(i, j, m, n, pieces.place(x));
                             if (status s = send(i, j, m, n, pieces.place(x)); !s) return s;
                             auto done = queue.record();
                             if (!done) return done.take_status();
                             pieces.done[x] = std::move(*done);
                             return {};
                         });
    });
}
// The other way; all has arrived when this returns.
template <class Queue, class Fetch, class Unpack>
status fetch_in_pieces(Queue const& queue, index_t rows, index_t cols, bool by_rows,
                       std::size_t element_bytes, Fetch&& fetch, Unpack&& unpack) {
    return with_pieces(queue, [&](auto& pieces) {
        struct part {
            index_t i = 0, j = 0, m = 0, n = 0;
            std::size_t piece = 0;
        };
        std::optional<part> travelling;
        auto const arrive = [&](part const& p) -> status {
            if (status s = queue.synchronize(pieces.done[p.piece]); !s) return s;
            unpack(p.i, p.j, p.m, p.n, pieces.place(p.piece));
            return {};
        };
        auto const most = static_cast<index_t>(pieces.bytes / element_bytes);
        status s =
            each_part(rows, cols, by_rows, most, [&](index_t i, index_t j, index_t m, index_t n) -> status {
                part const next{i, j, m, n, pieces.take_next()};
                if (status r = queue.synchronize(pieces.done[next.piece]); !r) return r;
                if (status r = fetch(i, j, m, n, pieces.place(next.piece)); !r) return r;
                auto done = queue.record();
                if (!done) return done.take_status();
                pieces.done[next.piece] = std::move(*done);
                auto const before = std::exchange(travelling, next);
                return before ? arrive(*before) : status();
            });
        return s && travelling ? arrive(*travelling) : std::move(s);
    });
}

// Bytes one after the other: queued for memory that the device reads itself, else read, or there, on return.
template <class Queue>
status send_bytes(Queue const& queue, void const* from, device_place to, std::size_t bytes) {
    if (bytes == 0) return {};
    if (queue.reads_itself(from)) return queue.send({1, bytes}, from, to);
    return send_in_pieces(
        queue, 1, static_cast<index_t>(bytes), true, 1,
        [&](index_t, index_t j, index_t, index_t n, std::byte* piece) {
            __builtin_memcpy(piece, static_cast<std::byte const*>(from) + j, static_cast<std::size_t>(n));
        },
        [&](index_t, index_t j, index_t, index_t n, std::byte* piece) {
            return queue.send({1, static_cast<std::size_t>(n)}, piece, {to.buffer, to.address + j});
        });
}
template <class Queue>
status fetch_bytes(Queue const& queue, device_place from, void* to, std::size_t bytes) {
    if (bytes == 0) return {};
    if (queue.reads_itself(to)) return queue.fetch({1, bytes}, from, to);
    return fetch_in_pieces(
        queue, 1, static_cast<index_t>(bytes), true, 1,
        [&](index_t, index_t j, index_t, index_t n, std::byte* piece) {
            return queue.fetch({1, static_cast<std::size_t>(n)}, {from.buffer, from.address + j}, piece);
        },
        [&](index_t, index_t j, index_t, index_t n, std::byte* piece) {
            __builtin_memcpy(static_cast<std::byte*>(to) + j, piece, static_cast<std::size_t>(n));
        });
}

template <class From, class To>
status check_block_copy(From const& from, To const& to) {
    auto const plain = [](auto const& v) { return v.scale == decltype(v.scale)(1) && !v.conjugate; };
    if (from.rows != to.rows || from.cols != to.cols)
        return failure(errc::shape, "copy_async: both sides of a copy must have the same shape");
    if (!plain(from) || !plain(to))
        return failure(errc::argument, "copy_async: a copy between host and device moves elements as they "
                                       "are; scale or conjugate with the "
                                       "leaf's copy() on the device");
    return {};
}

// A block to the device, on the queue of a leaf, which also has
//   reserve(bytes)   device memory, given back in the order of the queue
template <class Leaf, class From, class T, class Space>
status send_block(Leaf const& leaf, view<From> const& from, view<T, Space> const& to) {
    if (status s = check_block_copy(from, to); !s) return s;
    if (from.rows == 0 || from.cols == 0) return {};
    if (auto const x = lines_between(from, to); x && leaf.reads_itself(from.data))
        return leaf.send(*x, from.data, place_in_device(to));
    bool const by_rows = has_lines(to, true);
    if (by_rows || has_lines(to, false))
        return send_in_pieces(
            leaf, to.rows, to.cols, by_rows, sizeof(T),
            [&](index_t i, index_t j, index_t m, index_t n, std::byte* piece) {
                copy_on_host(from.block(i, j, m, n),
                             without_gaps<T, host_memory>(reinterpret_cast<T*>(piece), m, n, by_rows));
            },
            [&](index_t i, index_t j, index_t m, index_t n, std::byte* piece) {
                auto const packed = without_gaps<T, host_memory>(reinterpret_cast<T*>(piece), m, n, by_rows);
                auto const part = to.block(i, j, m, n);
                return leaf.send(*lines_between(packed, part), piece, place_in_device(part));
            });
    // Through memory of the device, where a kernel can take any strides.
    auto memory = leaf.reserve(static_cast<std::size_t>(to.rows * to.cols) * sizeof(T));
    if (!memory) return memory.take_status();
    auto const packed =
        without_gaps<T, Space>(memory->template take<T>(to.rows * to.cols), to.rows, to.cols, true);
    if (status s = send_block(leaf, from, packed); !s) return s;
    return leaf.copy(packed, to);
}
template <class Leaf, class From, class T, class Space>
status fetch_block(Leaf const& leaf, view<From, Space> const& from, view<T> const& to) {
    if (status s = check_block_copy(from, to); !s) return s;
    if (from.rows == 0 || from.cols == 0) return {};
    if (auto const x = lines_between(to, from); x && leaf.reads_itself(to.data))
        return leaf.fetch(*x, place_in_device(from), to.data);
    bool const by_rows = has_lines(from, true);
    if (by_rows || has_lines(from, false))
        return fetch_in_pieces(
            leaf, to.rows, to.cols, by_rows, sizeof(T),
            [&](index_t i, index_t j, index_t m, index_t n, std::byte* piece) {
                auto const packed = without_gaps<T, host_memory>(reinterpret_cast<T*>(piece), m, n, by_rows);
                auto const part = from.block(i, j, m, n);
                return leaf.fetch(*lines_between(packed, part), place_in_device(part), piece);
            },
            [&](index_t i, index_t j, index_t m, index_t n, std::byte* piece) {
                copy_on_host(without_gaps<T, host_memory>(reinterpret_cast<T*>(piece), m, n, by_rows),
                             to.block(i, j, m, n));
            });
    auto memory = leaf.reserve(static_cast<std::size_t>(to.rows * to.cols) * sizeof(T));
    if (!memory) return memory.take_status();
    auto const packed =
        without_gaps<T, Space>(memory->template take<T>(to.rows * to.cols), to.rows, to.cols, true);
    if (status s = leaf.copy(from, packed); !s) return s;
    return fetch_block(leaf, view<T const, Space>(packed), to);
}

// A block from the memory of another device, on the queue of a leaf, which also has
//   fetch_from(other, line_copy, place, place)   whose first pitch is that of the other's memory
template <class Leaf, class From, class T, class Space>
status fetch_block_from(Leaf const& leaf, Leaf const& other, view<From, Space> const& from,
                        view<T, Space> const& to) {
    if (status s = check_block_copy(from, to); !s) return s;
    if (from.rows == 0 || from.cols == 0) return {};
    if (auto const x = lines_between(from, to))
        return leaf.fetch_from(other, *x, place_in_device(from), place_in_device(to));
    bool const by_rows = has_lines(from, true);
    if (!by_rows && !has_lines(from, false))
        return failure(errc::unsupported, "copy_from: a block of another device must consist of lines "
                                          "without gaps: rows or columns");
    auto memory = leaf.reserve(static_cast<std::size_t>(to.rows * to.cols) * sizeof(T));
    if (!memory) return memory.take_status();
    auto const packed =
        without_gaps<T, Space>(memory->template take<T>(to.rows * to.cols), to.rows, to.cols, by_rows);
    if (status s = fetch_block_from(leaf, other, from, packed); !s) return s;
    return leaf.copy(packed, to);
}

STRATAGEMM_END
