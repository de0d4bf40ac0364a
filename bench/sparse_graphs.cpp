// Sparse matrices whose rows differ, times dense ones, against every algorithm of cuSPARSE: graphs with few rows that
// have most elements, in front or scattered, a stencil, pruned layers, empty rows, rows with most of the elements.
//
// Ratios are the time of the best of cuSPARSE's algorithms, prepared before, over that of a way: "plain" is gemm with
// the matrix as it is, "balanced" with what is kept of it, "rows" and "merged" are the two kernels that the plain call
// chooses from, "tiles" is the kernel for vectors, which sm_90 has. With `variants` there are also those of the merged
// kernel: items of A in a segment, or elements of A of a work-item. Every way runs in a captured graph.
#include "sparse.hpp"

#include <stratagemm/structure/csr.hpp>

#include <limits>
#include <map>
#include <regex>

namespace {

using bench::kind_of_matrix;
using bench::make_kinds;

template <class T>
class bench_of {
public:
    bench_of(sg::cuda const& gpu, race const& by, cusparse const& peer, std::string const& filter,
             bool variants)
        : gpu_(gpu), by_(by), peer_(peer), filter_(filter), variants_(variants), b_(gpu, 1, longest),
          c_(gpu, 1, longest), d_(gpu, 1, longest) {
        index_t const block = index_t{1} << 20;
        std::vector<T> pattern(static_cast<std::size_t>(block));
        for (index_t i = 0; i < block; ++i)
            pattern[static_cast<std::size_t>(i)] = static_cast<T>((i * 7 + i / 31) % 17 - 8) / T(8);
        gpu.leaf().upload(pattern.data(), b_.data(), block).or_throw();
        for (index_t there = block; there < longest; there *= 2)
            gpu.leaf()
                .copy(view<T const>{b_.data(), 1, there, there, 1},
                      view<T>{b_.data() + there, 1, there, there, 1})
                .or_throw();
    }

    void run(kind_of_matrix const& s) {
        auto const nonzeros = static_cast<index_t>(s.a.values.size());
        sg::cuda::matrix<std::int32_t> begins(gpu_, 1, s.a.rows + 1), columns(gpu_, 1, nonzeros);
        sg::cuda::matrix<T> values(gpu_, 1, nonzeros);
        begins.upload(sg::row_major(s.a.begins.data(), 1, s.a.rows + 1));
        columns.upload(sg::row_major(s.a.columns.data(), 1, nonzeros));
        std::vector<T> const numbers(s.a.values.begin(), s.a.values.end());
        values.upload(sg::row_major(numbers.data(), 1, nonzeros));
        matrix_a const x{s.a.rows, s.a.cols, begins.data(), columns.data(), values.data(), nonzeros};
        auto const in_pieces = sg::balanced(gpu_, x);
        for (index_t const n : {1, 4, 16, 32, 100, 256}) {
            std::string const name = s.name + " N " + std::to_string(n) + letter;
            if (std::regex_search(name, filter_)) run(s, x, in_pieces, n);
        }
    }
    // Prints the means of each way over the products that have it.
    void report() const {
        for (auto const& [way, all] : ratios_) {
            double const of_all = mean(all, 0);
            std::printf("%s%-10s geometric mean %.2f, worst %.2f; by N", letter, way.c_str(), of_all,
                        worst(all));
            for (index_t const n : {1, 4, 16, 32, 100, 256})
                if (mean(all, n) > 0) std::printf("  %td: %.2f", n, mean(all, n));
            std::printf("\n");
        }
    }

private:
    using space = sg::cuda::space;
    using matrix_a = sg::csr<T, std::int32_t, space>;
    template <class U>
    using view = sg::view<U, space>;
    static constexpr index_t longest = index_t{1} << 28;
    static constexpr int type = sizeof(T) == 8; // CUDA_R_64F, or CUDA_R_32F
    static constexpr char const* letter = sizeof(T) == 8 ? " double " : " float ";
    struct ratio {
        index_t n;
        double value;
    };

    static double mean(std::vector<ratio> const& all, index_t n) {
        double sum = 0, count = 0;
        for (ratio const& x : all)
            if (n == 0 || x.n == n) sum += std::log(x.value), ++count;
        return count > 0 ? std::exp(sum / count) : 0;
    }
    static double worst(std::vector<ratio> const& all) {
        double least = 1e9;
        for (ratio const& x : all) least = std::min(least, x.value);
        return least;
    }

    template <class B, class C>
    void add_merged(std::vector<way>& ways, std::string const& name, matrix_a const& x, B const& b,
                    C const& c, sg::csr_merged_work const& work, sg::cuda::arena& memory) {
        ways.push_back(
            {name,
             [this, p = sg::product(x, b, c), work, &memory](int) {
                 sg::multiply_csr_merged(gpu_.leaf(), p, work, sg::vector_of(p.c), memory).or_throw();
             },
             false});
    }
    template <class B, class C>
    void add_variants(std::vector<way>& ways, matrix_a const& x, B const& b, C const& c,
                      sg::cuda::arena& memory) {
        sg::csr_merged_work work = sg::choose_csr_merged<T>(x.rows, c.cols, x.nonzeros, sg::vector_of(b));
        if (work.few) {
            for (int const spans : {1, 2, 4, 8}) {
                work.spans = spans;
                add_merged(ways, std::to_string(spans) + " spans", x, b, c, work, memory);
            }
            work.spans = 0;
            work.even = 0;
            add_merged(ways, "even 0", x, b, c, work, memory);
            work.even = 2;
            for (int const share : {5, 7, 15}) {
                work.segment = work.items * share, work.ahead = share;
                if (work.segment * work.wide * static_cast<int>(sizeof(T)) + 4 * work.segment < 44 << 10)
                    add_merged(ways, "share " + std::to_string(share), x, b, c, work, memory);
            }
        } else {
            int const segment = work.segment;
            for (int const even : {0, 1, 4, 16}) {
                work.even = even;
                add_merged(ways, "even " + std::to_string(even), x, b, c, work, memory);
            }
            work.even = 2;
            for (int const other : {segment / 2, 2 * segment})
                if (other * work.segments_of_group() <= 8192) {
                    work.segment = other;
                    add_merged(ways, "segment " + std::to_string(other), x, b, c, work, memory);
                }
        }
    }
    // As opened by the peer: everything that a product needs is made before.
    void add_peers(std::vector<way>& ways, kind_of_matrix const& s, matrix_a const& x, index_t n,
                   std::vector<sg::cuda::matrix<float>>& rooms) {
        static T const one = 1, zero = 0;
        auto const address = [](auto handle) {
            return reinterpret_cast<void*>(const_cast<void*>(static_cast<void const*>(handle.address)));
        };
        void *matrix = nullptr, *from = nullptr, *to = nullptr, *const handle = peer_.handle;
        check(peer_.create_csr(&matrix, s.a.rows, s.a.cols, x.nonzeros, address(x.row_begins),
                               address(x.columns), address(x.values), 2, 2, 0, type),
              "cusparseCreateCsr");
        if (n == 1)
            check(peer_.create_vector(&from, s.a.cols, address(b_.data()), type), "a vector"),
                check(peer_.create_vector(&to, s.a.rows, address(d_.data()), type), "a vector");
        else
            check(peer_.create_matrix(&from, s.a.cols, n, n, address(b_.data()), type, 2), "a matrix"),
                check(peer_.create_matrix(&to, s.a.rows, n, n, address(d_.data()), type, 2), "a matrix");
        for (int const algorithm : n == 1 ? std::vector<int>{2, 3} : std::vector<int>{4, 6, 12}) {
            std::size_t bytes = 0;
            int const ready =
                n == 1 ? peer_.vector_room(handle, 0, &one, matrix, from, &zero, to, type, algorithm, &bytes)
                       : peer_.room(handle, 0, 0, &one, matrix, from, &zero, to, type, algorithm, &bytes);
            if (ready != 0) continue;
            rooms.emplace_back(gpu_, 1, static_cast<index_t>(bytes / 4 + 64));
            void* const room = address(rooms.back().data());
            if (n > 1 &&
                peer_.prepare(handle, 0, 0, &one, matrix, from, &zero, to, type, algorithm, room) != 0)
                continue;
            if (n == 1 && peer_.prepare_vector &&
                peer_.prepare_vector(handle, 0, &one, matrix, from, &zero, to, type, algorithm, room) != 0)
                continue;
            ways.push_back({"cuSPARSE " + std::to_string(algorithm), [=, this](int) {
                                check(n == 1 ? peer_.times_vector(handle, 0, &one, matrix, from, &zero, to,
                                                                  type, algorithm, room)
                                             : peer_.multiply(handle, 0, 0, &one, matrix, from, &zero, to,
                                                              type, algorithm, room),
                                      "cuSPARSE");
                            }});
        }
    }

    template <class Pieces>
    void run(kind_of_matrix const& s, matrix_a const& x, Pieces const& in_pieces, index_t n) {
        view<T const> const b{b_.data(), x.cols, n, n, 1};
        view<T> const c{c_.data(), x.rows, n, n, 1};
        auto const p = sg::product(x, b, c);
        sg::plan const plan(gpu_, p.shape()), plan_of_pieces(gpu_, sg::product(in_pieces, b, c).shape());
        auto memory = plan.reserve(), memory_of_pieces = plan_of_pieces.reserve();
        auto const all_memory =
            *sg::reserve_for(gpu_, static_cast<std::size_t>((x.rows + x.nonzeros) / 16 + 9) *
                                       (4 + sizeof(T) * static_cast<std::size_t>(n)));
        sg::csr_merged_work const work = sg::choose_csr_merged<T>(x.rows, n, x.nonzeros, sg::vector_of(b));
        std::vector<way> ways;
        ways.push_back({"plain", [&](int) { plan.run(p, memory); }, false});
        ways.push_back({"balanced",
                        [&](int) { plan_of_pieces.run(sg::product(in_pieces, b, c), memory_of_pieces); },
                        false});
        ways.push_back({"rows",
                        [&](int) {
                            if (auto const by_vector = sg::vector_work_of<space>(gpu_.leaf(), p);
                                by_vector.rows > 0)
                                sg::multiply_csr_by_vector(gpu_.leaf(), p, by_vector).or_throw();
                            else
                                sg::multiply_csr_rows(gpu_.leaf(), p, sg::only_listed(), memory).or_throw();
                        },
                        false});
        add_merged(ways, "merged", x, b, c, work, *all_memory);
        if (n == 1) {
            sg::csr_vector_work tiles;
            tiles.rows = static_cast<int>(std::clamp<index_t>(400 * x.rows / x.nonzeros, 1, 32));
            ways.push_back(
                {"tiles",
                 [this, p, tiles](int) { sg::multiply_csr_by_vector(gpu_.leaf(), p, tiles).or_throw(); },
                 false});
        }
        std::size_t const usual = ways.size();
        if (variants_) add_variants(ways, x, b, c, *all_memory);
        std::vector<sg::cuda::matrix<float>> rooms;
        if (peer_.handle) add_peers(ways, s, x, n, rooms);
        std::string same = compare(ways, x.rows * n);
        by_.run(ways, 1, 3);
        double best = 1e9;
        for (way const& w : ways)
            if (w.counts) best = std::min(best, median(w.seconds));
        std::printf("%-22s%s N %3td %s", s.name.c_str(), letter, n, same.c_str());
        for (std::size_t i = 0; i < ways.size(); ++i) {
            double const seconds = median(ways[i].seconds);
            if (i < usual && s.counts && peer_.handle) ratios_[ways[i].name].push_back({n, best / seconds});
            std::printf("  %s %.1f", ways[i].name.c_str(), seconds * 1e6);
            if (!ways[i].counts && peer_.handle) std::printf(" (%.2f)", best / seconds);
        }
        std::printf("  %s\n", plan.describe().c_str());
        std::fflush(stdout);
    }

    // Which ways differ from the last, which writes to D, at both ends of C.
    std::string compare(std::vector<way>& ways, index_t size) {
        index_t const some = std::min(size, index_t{1} << 19);
        std::vector<T> expected(static_cast<std::size_t>(2 * some)), found(expected.size());
        auto const take = [&](std::vector<T>& to, auto const& from) {
            gpu_.leaf().download(from.data(), to.data(), some).or_throw();
            gpu_.leaf().download(from.data() + (size - some), to.data() + some, some).or_throw();
        };
        if (!peer_.handle) return "unchecked";
        ways.back().call(0);
        take(expected, d_);
        std::string wrong;
        T const eps = std::numeric_limits<T>::epsilon();
        for (way& w : ways) {
            if (w.counts) break;
            gpu_.leaf().fill(view<T>{c_.data(), 1, size, size, 1}, T(77)).or_throw();
            w.call(0);
            take(found, c_);
            for (std::size_t i = 0; i < found.size(); ++i)
                if (!(std::abs(found[i] - expected[i]) <=
                      eps * T(3e5) + T(1e3) * eps * std::abs(expected[i]))) {
                    wrong += " WRONG: " + w.name;
                    break;
                }
        }
        return wrong;
    }

    sg::cuda const& gpu_;
    race const& by_;
    cusparse const& peer_;
    std::regex filter_;
    bool variants_;
    sg::cuda::matrix<T> b_, c_, d_;
    std::map<std::string, std::vector<ratio>> ratios_;
};

} // namespace

void graphs_by_kind(sg::cuda const& gpu, race const& by, graphs::stream stream, std::string const& filter,
                    bool variants) {
    cusparse peer;
    bool const there = peer.multiply && peer.prepare && peer.times_vector && peer.create(&peer.handle) == 0 &&
                       peer.set_stream(peer.handle, stream) == 0;
    if (!there) peer.handle = nullptr, std::printf("cuSPARSE is not here\n");
    std::printf("graphs: us a call, and in brackets the time of the best of cuSPARSE's algorithms over it\n");
    auto const samples = make_kinds(index_t{1} << 18);
    for (kind_of_matrix const& s : samples) {
        auto const rows = static_cast<std::size_t>(s.a.rows);
        index_t most = 0;
        for (std::size_t i = 0; i < rows; ++i)
            most = std::max<index_t>(most, s.a.begins[i + 1] - s.a.begins[i]);
        std::printf("%-22s %td x %td, %zu elements, longest row %td\n", s.name.c_str(), s.a.rows, s.a.cols,
                    s.a.values.size(), most);
    }
    auto const of_type = [&]<class T>(T) {
        bench_of<T> bench(gpu, by, peer, filter, variants);
        for (kind_of_matrix const& s : samples) bench.run(s);
        bench.report();
    };
    of_type(0.0f);
    of_type(0.0);
}
