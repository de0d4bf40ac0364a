// What a leaf offers. The leaf of a policy is the backend of its memory space; algorithms reach memory and
// machine through it alone.
//
// Each concept below is a capability, and the comment is its contract. An algorithm that has a form of its
// own for a kind of leaf picks it with `if constexpr (device_leaf<...>)`; nothing else asks a leaf for a
// member.
#pragma once

#include "epilogue.hpp"
#include "error.hpp"
#include "operand.hpp"

#include <compare>
#include <cstdint>
#include <string>

STRATAGEMM_BEGIN

// Every leaf, for views in its memory space. Operations are done in order; synchronize() returns when all are
// done.
//   copy(from, to)             to = from, converted to the type of `to`; `from` may be scaled and conjugated
//   add(x, y, to)              to = x + y; x and y may be scaled and conjugated, and `to` may be either of
//                              them
//   fill(to, value)
//   apply(f, to, row0, col0)   to_ij = f(to_ij, row0 + i, col0 + j), for epilogues that the leaf can run
template <class L, class Space>
concept leaf = requires(L const& l, view<float const, Space> from, view<float, Space> to) {
    { l.copy(from, to) } -> std::same_as<status>;
    { l.add(from, from, to) } -> std::same_as<status>;
    { l.fill(to, 1.0f) } -> std::same_as<status>;
    { l.apply(relu, to, index_t{0}, index_t{0}) } -> std::same_as<status>;
    { l.synchronize() } -> std::same_as<status>;
};

// A leaf whose memory the caller's threads share.
//   team(work)            how many threads are worth starting for so many multiply-adds
//   each(team, parts, f)  f(thread, part) for each part, by at most `team` threads; thread < team
template <class L>
concept host_leaf = requires(L const& l, double work, int n, void (&f)(int, int)) {
    { l.team(work) } -> std::same_as<int>;
    l.each(n, n, f);
};

// The threads that there are; for an estimate of a shape that may be one (to_choose_by).
template <class L>
int all_threads([[maybe_unused]] L const& leaf) {
    if constexpr (host_leaf<L>)
        return leaf.team(0x1p1000);
    else
        return 1;
}
template <class S, class L>
int threads_for(S const& s, L const& leaf) {
    return s.alone ? 1 : all_threads(leaf);
}

// A host leaf of a machine that may have a matrix unit on tiles (backend/host/tiles.hpp has its primitives).
//   has_tiles()           whether the unit is there and in force
//   tile_rate()           how fast it is beside vectors, for estimates: 1 where it was seen to be fast; by a stored
//                         measurement, or by a low guess
template <class L>
concept tiled_host_leaf = host_leaf<L> && requires(L const& l) {
    { l.has_tiles() } -> std::same_as<bool>;
    { l.tile_rate() } -> std::same_as<double>;
};

// A leaf that names its machine: machine() is the processor, or a device with its driver, as text. Measurements that are
// kept are found by it.
template <class L>
concept named_leaf = requires(L const& l) {
    { l.machine() } -> std::same_as<std::string>;
};

// A constant text, such as a literal; any other text does not compile. Its address identifies it. The hash
// (FNV-1a) tells texts apart that lay at one address one after the other, in libraries that were loaded and
// unloaded.
class static_text {
public:
    consteval static_text(char const* text) : text_(text) {
        for (; *text; ++text) hash_ = (hash_ ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
    }
    constexpr char const* get() const { return text_; }
    friend constexpr auto operator<=>(static_text const&, static_text const&) = default;

private:
    std::uint64_t hash_ = 0xcbf29ce484222325u;
    char const* text_;
};

// Numbers from which a text is written.
struct text_numbers {
    index_t at[5]{};
    friend constexpr auto operator<=>(text_numbers const&, text_numbers const&) = default;
};

// Numbers that a written text reads and that do not change, one table after another.
struct text_tables {
    std::string bytes;
};

// A kernel in the dialect that device backends share (device/dialect.hpp), compiled when it is first
// launched.
struct device_kernel {
    char const* name;
    static_text text;
    std::string definitions{}; // put before the text
    int items = 256;           // work-items of a group, threads of a block
    bool uses_double = false;
    bool exact = false;               // a b + c is not to be contracted
    std::string (*types)() = nullptr; // more definitions, called when the kernel is compiled
    std::size_t shared_bytes = 0;     // whose size the launch sets: LARGE_SHARED, or for a warpgroup_leaf
    // More text, behind `text`, written when the kernel is compiled: steps and tables that depend on numbers. Tables
    // are in the text, unless a backend takes them `apart`, for a parameter of the kernel (TABLES of the dialect).
    std::string (*write)(text_numbers const&, text_tables* apart) = nullptr;
    text_numbers numbers{};
};
// SHARED of a kernel has at most so many bytes in each language.
inline constexpr std::size_t device_declared_bytes = 48 << 10;
struct device_limits {
    index_t groups = 0; // of one launch, in the first dimension
    bool has_double = false;
    std::size_t memory_bytes = 0; // what the device has, and can give in one piece
    std::size_t kept_bytes = 0;   // of it, what stays with the queue for the next product
    double link = 10e9; // bytes a second between host and device in one direction: roughly, for estimates
    double bandwidth = 100e9;        // bytes a second of its memory, likewise
    int group_items = 256;           // work-items of a group, at most; any device has these,
    std::size_t group_bytes = 32768; // and so many bytes of shared memory for a group
    bool is_cpu = false;             // a core does the work of a group, one work-item after another
};

// A leaf whose memory is a device's.
//   launch(kernel, groups, arguments...)   queues it; an argument is a handle, an index, an int, a float, a
//                                          double, or a view (a MATRIX of the dialect: its handle and its
//                                          strides)
//   limits()
//   upload(from, to, count)                from host memory; done when it returns. download(from, to, count)
//                                          likewise
//   layer                                  its name in errors
//   epilogue<T>(f)                         an epilogue of sums of T as an argument of a launch; definitions() go before
//                                          the text of the kernel
template <class L, class Space>
concept device_leaf = requires(L const& l, device_kernel const& kernel,
                               typename Space::template handle<float> p, float* host) {
    { l.launch(kernel, index_t{1}, p, index_t{1}, 1, 1.0f, 1.0) } -> std::same_as<status>;
    { l.limits() } -> std::same_as<device_limits>;
    { L::layer } -> std::convertible_to<char const*>;
    { typename L::template epilogue<float>(relu).definitions() } -> std::convertible_to<std::string>;
    { l.upload(host, p, index_t{1}) } -> std::same_as<status>;
    { l.download(p, host, index_t{1}) } -> std::same_as<status>;
};

// A device leaf whose devices may multiply tiles in shared memory by warpgroups (NVIDIA's sm_90a). A kernel for these
// is in CUDA C++.
//   warpgroup_units()      how many multiprocessors do that; 0 if this device does not
//   map_tiles(x, lines, length, map)   sets how the hardware fetches tiles of x: the argument of a launch, a
//                          tile_map, for a parameter `__grid_constant__ const tensor_map`. The columns of x have
//                          stride 1, x and its rows begin at multiples of 16 bytes, and lines of a tile have 32, 64
//                          or 128 bytes, which are swizzled in shared memory
template <class L, class Space>
concept warpgroup_leaf = device_leaf<L, Space> &&
    requires(L const& l, view<float const, Space> x, typename L::tile_map& map) {
    { l.warpgroup_units() } -> std::same_as<int>;
    { l.map_tiles(x, index_t{1}, index_t{1}, map) } -> std::same_as<status>;
};

// A leaf with queues of its own.
//   fork()               a leaf on another queue of the same device, in no order with this one but by events
//   record()             an event, which happens when all that was queued before is done
//   wait(event)          what is queued from now on waits for it
//   synchronize(event)   returns when it has happened
//   pin(bytes)           host memory that the device reads and writes itself, at data(), of size() bytes;
//                        copies share it, and one of them has to stay until the copies that use the memory
//                        are done
//   copy_async(x, y)     the elements of x to y, of the same shape and type, neither scaled nor conjugated;
//                        one of the two is in host memory. The host's may not be changed, or read, before the
//                        queue is done with it; the call may return only then. It does not wait where that
//                        memory is pinned and both matrices have their columns, or both their rows, without
//                        gaps; anything else takes longer, and may be packed and waited for. Several threads may
//                        copy at a time.
//   reads_itself(x)      whether the device copies from and to that host memory without a thread of the host, as it
//                        does where the memory is pinned
template <class L, class Space>
concept has_queues = requires(L const& l, typename L::event const& e, view<float const> from,
                              view<float, Space> to, view<float const, Space> there, view<float> here) {
    { l.fork() } -> std::same_as<result<L>>;
    { l.record() } -> std::same_as<result<typename L::event>>;
    { l.wait(e) } -> std::same_as<status>;
    { l.synchronize(e) } -> std::same_as<status>;
    { l.copy_async(from, to) } -> std::same_as<status>;
    { l.copy_async(there, here) } -> std::same_as<status>;
    { l.pin(std::size_t{1})->data() } -> std::same_as<std::byte*>;
    { l.reads_itself(from.data) } -> std::same_as<bool>;
};
template <class L, class Space>
concept queued_leaf = device_leaf<L, Space> && has_queues<L, Space>;

// A queued leaf whose devices may read the memory of each other.
//   is_beside(other)          whether both are queues of one device
//   reaches(other)            whether this device reads the memory of the other's device itself; the first question sets
//                             that up
//   link_from(other)          bytes a second from the other's device to this one, roughly, for estimates
//   copy_from(other, x, y)    the elements of x, in memory of a device that is reached, to y, of the same shape and type,
//                             in memory of this one; neither is scaled or conjugated. Queued here, in no order with
//                             what the other has queued
template <class L, class Space>
concept peer_leaf = queued_leaf<L, Space> &&
    requires(L const& l, view<float const, Space> from, view<float, Space> to) {
    { l.is_beside(l) } -> std::same_as<bool>;
    { l.reaches(l) } -> std::same_as<bool>;
    { l.link_from(l) } -> std::same_as<double>;
    { l.copy_from(l, from, to) } -> std::same_as<status>;
};

STRATAGEMM_END
