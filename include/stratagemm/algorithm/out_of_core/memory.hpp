// The two memories of `out_of_core`: where operands are, that of the base, and copies between them.
//
// A copy keeps a matrix in the order in which it lies and leaves its gaps out. What the device cannot read by itself
// is packed on the way by a few threads.
#pragma once

#include "../../backend/host/memory.hpp"
#include "../../device/transfer.hpp"

#include <functional>
#include <memory>
#include <string>

STRATAGEMM_BEGIN

inline namespace literals {
constexpr index_t operator""_MiB(unsigned long long x) { return static_cast<index_t>(x << 20); }
constexpr index_t operator""_GiB(unsigned long long x) { return static_cast<index_t>(x << 30); }
} // namespace literals

struct out_of_core_options {
    // Three quarters of the memory that a device, or the host, has.
    static constexpr index_t automatic = PTRDIFF_MAX;

    index_t device_bytes = automatic; // of each device: blocks, and the workspace of the base
    index_t host_bytes =
        automatic; // the same of the host, if the base multiplies there and operands are in files
    // For matrices in files: the name of a file that records which blocks of C are done. If the process ends, the
    // same call continues from the recorded blocks. Another call refuses the file. The file is removed when
    // all blocks are done. Empty: nothing is recorded.
    std::string journal{};
    // Called with the number of finished blocks of C, and of all, by one thread at a time.
    std::function<void(index_t done, index_t all)> progress{};
};

struct tiling; // tiling.hpp

// Where the operands of out_of_core are, for a base whose memory is There, and the leaf of that place: on
// the host for devices, and where out_of_core/files.hpp says for the host.
template <class There>
struct memory_beyond {
    using space = host_memory;
    using leaf = host_operations;
    // No list of finished blocks is kept: nobody resumes a product whose operands are in memory.
    struct journal {
        template <class P>
        static status check(out_of_core_options const& options, P const&) {
            if (options.journal.empty()) return {};
            return failure(errc::argument, "out_of_core: a journal is for matrices in files");
        }
        bool has(index_t) const { return false; }
        template <class V>
        status add(index_t, V const&) {
            return {};
        }
        status finish() { return {}; }
    };
};
template <>
struct memory_beyond<host_memory>;

// Host memory, and that of each base beside it.
template <class Arena>
class arenas : public host_arena {
public:
    arenas() = default;
    arenas(host_arena own, std::unique_ptr<Arena[]> bases, int count)
        : host_arena(std::move(own)), bases_(std::move(bases)), count_(count) {}
    bool fits(footprint f) const {
        for (int i = 0; i < count_; ++i)
            if (!bases_[static_cast<std::size_t>(i)].fits(f)) return false;
        return std::is_base_of_v<host_arena, Arena> || host_arena::fits(f);
    }
    Arena& operator[](int i) { return bases_[static_cast<std::size_t>(i)]; }

private:
    std::unique_ptr<Arena[]> bases_;
    int count_ = 0;
};

// A layer over a device, such as strassen{gpu}, is not given host operands in silence: a copy there and back
// costs time.
template <class There>
requires(!std::is_same_v<There, host_memory>) struct refuse_space<There, host_memory> {
    static constexpr bool say() {
        static_assert(
            std::is_same_v<There, host_memory>,
            "stratagemm: the operands are in host memory and the policy is on a device: put staged{} around "
            "the policy, or the operands into matrices of the device");
        return false;
    }
};

// The operands of a layer over the host are in its memory, and would come from files.
template <>
struct refuse_space<host_memory, host_memory> {
    template <class There = host_memory>
    static constexpr bool say() {
        static_assert(
            !std::is_same_v<There, host_memory>,
            "stratagemm: staged and out_of_core are for a policy on a device; over the host, out_of_core "
            "takes matrices in files (include algorithm/out_of_core/files.hpp)");
        return false;
    }
};

namespace out_of_core_parts {

// Whether operands are in files, and the base multiplies on the host.
template <class Base>
inline constexpr bool from_files = std::is_same_v<typename Base::space, host_memory>;

// The problem that the base gets.
template <class Base, class P, class Epilogue>
using counterpart =
    dense_problem<typename P::a_type, typename P::b_type, typename P::c_type, typename Base::space, Epilogue>;
template <class Base, class P>
inline constexpr bool fuses = takes<Base, counterpart<Base, P, typename P::epilogue_type>>;

// What copies between the two memories, on queues if the base has any.
template <class Base>
auto channel(Base const& base) {
    if constexpr (from_files<Base>)
        return typename memory_beyond<typename Base::space>::leaf{};
    else
        return base.leaf();
}

// Room for a (batch of) matrices without gaps, in the order in which those on the host lie. One that is
// repeated is one.
template <class T, class There>
struct staging {
    bool by_rows;
    index_t matrices, step;
    view<T, There> first;

    template <class V, class Arena>
    staging(V const& host, index_t host_step, index_t count, Arena& memory)
        : by_rows(!rows_are_closer(host)), matrices(host_step == 0 ? 1 : count),
          step(host_step == 0 ? 0 : host.rows * host.cols) {
        first = without_gaps<T, There>(memory.template take<T>(matrices * host.rows * host.cols), host.rows,
                                       host.cols, by_rows);
    }

    // f(block of the host's, block there) for all of it: at once where the lines of all matrices, or
    // the matrices themselves, follow each other at one pitch.
    template <class V, class F>
    status each_block(V host, index_t host_step, F&& f) const {
        host.conjugate = false;
        view<T, There> over = first;
        index_t const lines = by_rows ? host.rows : host.cols, length = by_rows ? host.cols : host.rows;
        index_t const pitch = by_rows ? host.row_stride : host.col_stride,
                      unit = by_rows ? host.col_stride : host.row_stride;
        if (matrices > 1 && (lines == 1 || host_step == lines * pitch)) {
            (by_rows ? host.rows : host.cols) = (by_rows ? over.rows : over.cols) = lines * matrices;
            (by_rows ? host.row_stride : host.col_stride) = lines == 1 ? host_step : pitch;
            return f(host, over);
        }
        if (matrices > 1 && unit == 1 && pitch == length) {
            host.rows = over.rows = matrices, host.cols = over.cols = step;
            host.row_stride = host_step, over.row_stride = step;
            host.col_stride = over.col_stride = 1;
            return f(host, over);
        }
        for (index_t i = 0; i < matrices; ++i) {
            if (status s = f(host, over); !s) return s;
            host.data = host.data + host_step, over.data = over.data + step;
        }
        return {};
    }
};

// To or from the host, as a leaf's copy_async does it. Packing keeps up with a copy engine only where a
// few threads do it, each a part.
template <class Leaf, class From, class To, class Data>
status copy_between(Leaf const& leaf, From const& from, To const& to, Data host) {
    constexpr int threads = 6;
    double const bytes =
        static_cast<double>(from.rows) * static_cast<double>(from.cols) * sizeof(typename From::value_type);
    if (bytes < 0x1p22 || leaf.reads_itself(host)) return leaf.copy_async(from, to);
    status failed[threads];
    bool const by_rows = from.rows >= from.cols;
    index_t const side = by_rows ? from.rows : from.cols;
    host_each(threads, threads, [&](int, int x) {
        index_t const first = side * x / threads, length = side * (x + 1) / threads - first;
        auto const part = [&](auto const& v) {
            return by_rows ? v.part(first, 0, length, v.cols) : v.part(0, first, v.rows, length);
        };
        failed[x] = leaf.copy_async(part(from), part(to));
    });
    for (status& s : failed)
        if (!s) return std::move(s);
    return {};
}

} // namespace out_of_core_parts

STRATAGEMM_END
