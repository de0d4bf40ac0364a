// The leaf of every policy whose operands are in CUDA memory: operations on sub-views, queued.
#pragma once

#include "../../device/operations.hpp"
#include "queue.hpp"
#include "source.hpp"

#include <array>

STRATAGEMM_BEGIN

class cuda_operations : public cuda_queue,
                        public device_operations<cuda_operations, cuda_memory, cuda_epilogue> {
public:
    static constexpr char const* layer = "cuda";

    using cuda_queue::cuda_queue;

    device_limits limits() const {
        cuda_device const& d = session_->device();
        cuda_rates const rates = cuda_rates_of(d.capability);
        device_limits limits;
        limits.groups = device_longest, limits.has_double = true;
        limits.memory_bytes = d.global_bytes, limits.kept_bytes = session_->kept_bytes();
        limits.link = rates.host;
        limits.bandwidth = rates.memory * d.units;
        limits.group_items = 1024;
        if (d.shared_bytes > limits.group_bytes) limits.group_bytes = d.shared_bytes;
        return limits;
    }

    std::string machine() const { return session_->target(); }

    // See warpgroup_leaf in core/leaf.hpp.
    using tile_map = CUtensorMap;
    int warpgroup_units() const {
        cuda_device const& d = session_->device();
        return d.capability == 90 ? d.units : 0;
    }
    template <class T>
    status map_tiles(cuda_view<T const> const& x, index_t lines, index_t length, tile_map& map) const {
        return session_->map_of(map, cuda_lines<T>{x.data.address, x.rows, x.cols, 1, x.row_stride}, length,
                                lines, true);
    }

    double link_from(cuda_operations const& other) const { return session_->link_from(*other.session_); }
    template <class From, class To>
    requires std::same_as<std::remove_const_t<From>, To>
        status copy_from(cuda_operations const& other, cuda_view<From> const& from, cuda_view<To> const& to)
    const { return fetch_block_from(*this, other, from, to); }

    // The same device with a separate stream. Only events order this stream and the new one.
    result<cuda_operations> fork() const {
        auto queue = another();
        if (!queue) return queue.take_status();
        return cuda_operations(std::move(*queue));
    }

private:
    friend device_operations<cuda_operations, cuda_memory, cuda_epilogue>;

    explicit cuda_operations(cuda_queue queue) : cuda_queue(std::move(queue)) {}

    status check() const { return session_->ready(); }
    template <class T>
    static status check(T const&) {
        return {};
    }
    template <class State>
    static status check(kernel_epilogue<State> const& e) {
        return e.check();
    }
    template <class... Arguments>
    status queue_kernel(device_kernel const& kernel, index_t groups, Arguments const&... arguments) const {
        auto compiled = session_->kernel(dialect_key(kernel), [&] { return cuda_source_of(kernel); });
        if (!compiled) return compiled.take_status();
        std::array<void const*, 3 * sizeof...(Arguments) + 1> places;
        std::size_t count = 0;
        auto const give = [&](auto const& x) { places[count++] = place_of(x); };
        (each_given(give, arguments), ...);
        cuda_grid const grid{.blocks = static_cast<unsigned>(groups),
                             .threads = static_cast<unsigned>(kernel.items),
                             .overlaps = false};
        return session_->launch_at(stream_, **compiled, grid, places.data());
    }

    // The address of an argument, as a kernel takes it.
    template <class T>
    static void const* place_of(T const& x) {
        return &x;
    }
    template <class T>
    static void const* place_of(cuda_pointer<T> const& p) {
        return &p.address;
    }
    template <class State>
    static void const* place_of(kernel_epilogue<State> const& e) {
        return e.bytes().data();
    }
};

STRATAGEMM_END
