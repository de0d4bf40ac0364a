// Panels in the memories of several devices, and copies from one such memory to another, or to files.
#pragma once

#include "../../algorithm/out_of_core.hpp"
#include "../../backend/file.hpp"
#include "../../device/device_matrix.hpp"
#include "../../gemm.hpp"

STRATAGEMM_BEGIN

// Queues for panels in host memory, whose "devices" are threads: all is done when a call returns.
struct host_queue : host_operations {
    struct event {};

    host_queue() = default;
    explicit host_queue(host_operations const& leaf) : host_operations(leaf) {}
    result<host_queue> fork() const { return *this; }
    result<event> record() const { return event{}; }
    status wait(event const&) const { return {}; }
    bool reads_itself(void const*) const { return true; }
    template <class From, class T>
    status copy_async(view<From> const& from, view<T> const& to) const {
        if (status s = check_block_copy(from, to); !s) return s;
        if (from.rows > 0 && from.cols > 0) copy_on_host(from, to);
        return {};
    }
};
template <class Leaf>
using device_queue = std::conditional_t<std::is_base_of_v<host_operations, Leaf>, host_queue, Leaf>;
// Leaves that panels are for.
template <class Leaf, class Space>
concept panel_leaf = queued_leaf<Leaf, Space> || std::is_base_of_v<host_operations, Leaf>;

template <class T, class Space, class Queue>
struct panel_of {
    Queue queue;
    view<T, Space> data;
    index_t first_row = 0;
};

// To memory of a device from any other, whose leaf is `other`: by way of pinned memory of the host.
template <class Queue, class Other, class From, class T, class Space>
status send_by_host(Queue const& queue, Other const& other, From const& from, view<T, Space> const& to) {
    if (to.rows == 0 || to.cols == 0) return {};
    bool const by_rows = has_lines(to, true);
    status filled;
    auto const room = [&](std::byte* piece, index_t m, index_t n) {
        return without_gaps<T, host_memory>(reinterpret_cast<T*>(piece), m, n, by_rows);
    };
    status sent = send_in_pieces(
        queue, to.rows, to.cols, by_rows, sizeof(T),
        [&](index_t i, index_t j, index_t m, index_t n, std::byte* piece) {
            filled = other.copy_async(from.part(i, j, m, n), room(piece, m, n));
            if (filled) filled = other.synchronize();
        },
        [&](index_t i, index_t j, index_t m, index_t n, std::byte* piece) -> status {
            if (!filled) return std::move(filled);
            return queue.copy_async(view<T const>(room(piece, m, n)), to.part(i, j, m, n));
        });
    return sent;
}

// Between two devices. Queued on the queue of `to`, or done when it returns; `from` has to be there.
template <class T, class Space, class Queue>
status copy_between_devices(Queue const& from_queue, std::type_identity_t<view<T const, Space>> const& from,
                            Queue const& to_queue, view<T, Space> const& to) {
    if constexpr (std::is_same_v<Queue, host_queue>) {
        return to_queue.copy_async(from, to);
    } else {
        if constexpr (peer_leaf<Queue, Space>)
            if (to_queue.reaches(from_queue)) return to_queue.copy_from(from_queue, from, to);
        return send_by_host(to_queue, from_queue, from, to);
    }
}
// Bytes a second of that.
template <class Space, class Queue>
double link_between(Queue const& from, Queue const& to) {
    if constexpr (std::is_same_v<Queue, host_queue>)
        return 10e9;
    else if constexpr (peer_leaf<Queue, Space>)
        return to.link_from(from);
    else
        return to.limits().link / 2;
}
// Whether a device reads another's memory without the host.
template <class Space, class Queue>
bool is_direct(Queue const& from, Queue const& to) {
    if constexpr (peer_leaf<Queue, Space>)
        return to.reaches(from);
    else
        return std::is_same_v<Queue, host_queue>;
}

// From a file to a panel, and back.
template <class T, class Space, class Queue>
status read_panel(Queue const& queue, file_view<T const> const& from, view<T, Space> const& to) {
    if constexpr (std::is_same_v<Queue, host_queue>)
        return file_operations{}.copy_async(from, to);
    else
        return or_no_memory([&] { return send_by_host(queue, file_operations{}, from, to); });
}
template <class T, class Space, class Queue>
status write_panel(Queue const& queue, view<T const, Space> const& from, file_view<T> const& to) {
    if constexpr (std::is_same_v<Queue, host_queue>) {
        return file_operations{}.copy_async(from, to);
    } else {
        if (from.rows == 0 || from.cols == 0) return {};
        bool const by_rows = has_lines(from, true);
        auto const room = [&](std::byte* piece, index_t m, index_t n) {
            return without_gaps<T, host_memory>(reinterpret_cast<T*>(piece), m, n, by_rows);
        };
        status written;
        status fetched = or_no_memory([&] {
            return fetch_in_pieces(
                queue, from.rows, from.cols, by_rows, sizeof(T),
                [&](index_t i, index_t j, index_t m, index_t n, std::byte* piece) {
                    return queue.copy_async(from.part(i, j, m, n), room(piece, m, n));
                },
                [&](index_t i, index_t j, index_t m, index_t n, std::byte* piece) {
                    if (written)
                        written = file_operations{}.copy_async(view<T const>(room(piece, m, n)),
                                                               to.part(i, j, m, n));
                });
        });
        return fetched ? std::move(written) : std::move(fetched);
    }
}

STRATAGEMM_END
