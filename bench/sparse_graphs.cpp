// Sparse matrices whose rows differ, times dense ones, against every algorithm of cuSPARSE: graphs with few rows that
// have most elements, in front or scattered, a stencil, pruned layers, empty rows, rows with most of the elements.
//
// Ratios are the time of the best of cuSPARSE's algorithms, prepared before, over that of a way: "plain" is gemm with
// the matrix as it is, "balanced" with its rows in pieces, "rows" and "merged" are the two kernels that the plain call
// chooses from, "tiles" is the kernel for vectors, which sm_90 has. With `variants` there are also those of the merged
// kernel: items of A in a segment, or elements of A of a work-item. Every way runs in a captured graph.
#include "sparse.hpp"

#include <stratagemm/structure/csr.hpp>

#include <limits>
#include <map>
#include <numeric>
#include <regex>

namespace {

struct sample {
    char const* name;
    host_csr a;
    bool counts = true; // in the means
};

// Degrees with a density of d^-exponent: number i, counted from the largest, has about i^(-1 / (exponent - 1)) of them.
// Columns are chosen with the same weights.
host_csr make_graph(index_t nodes, double exponent, index_t average, bool in_front) {
    std::mt19937 random(11);
    double const power = 1 / (exponent - 1);
    double all = 0;
    for (index_t i = 0; i < nodes; ++i) all += std::pow(static_cast<double>(i + 1), -power);
    std::vector<std::int32_t> place(static_cast<std::size_t>(nodes)), node(place.size());
    std::iota(place.begin(), place.end(), 0);
    if (!in_front) std::shuffle(place.begin(), place.end(), random);
    for (std::size_t i = 0; i < place.size(); ++i)
        node[static_cast<std::size_t>(place[i])] = static_cast<std::int32_t>(i);
    double const least = 1 - std::pow(static_cast<double>(nodes) + 1, 1 - power);
    auto const any = [&] {
        double const u = static_cast<double>(random()) * 0x1p-32;
        auto const rank = static_cast<index_t>(std::pow(1 - u * least, 1 / (1 - power))) - 1;
        return place[static_cast<std::size_t>(std::clamp<index_t>(rank, 0, nodes - 1))];
    };
    host_csr x{nodes, nodes};
    std::vector<std::int32_t> row;
    for (index_t i = 0; i < nodes; ++i) {
        double const rank = node[static_cast<std::size_t>(i)] + 1;
        auto const degree =
            std::min(nodes / 4, static_cast<index_t>(0.5 + static_cast<double>(average * nodes) *
                                                               std::pow(rank, -power) / all));
        row.clear();
        for (index_t at = 0; at < degree; ++at) row.push_back(any());
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
        for (std::int32_t const j : row)
            x.columns.push_back(j), x.values.push_back(static_cast<float>(random()) * 0x1p-31f - 1);
        x.begins.push_back(static_cast<std::int32_t>(x.columns.size()));
    }
    return x;
}

// A point and its neighbours in a cube.
host_csr make_stencil(index_t side) {
    host_csr x{side * side * side, side * side * side};
    auto const inside = [&](index_t at) { return at >= 0 && at < side; };
    for (index_t i = 0; i < x.rows; ++i) {
        for (index_t d = 0; d < 27; ++d) {
            index_t const z = i / (side * side) + d / 9 - 1, y = i / side % side + d / 3 % 3 - 1,
                          w = i % side + d % 3 - 1;
            if (!inside(z) || !inside(y) || !inside(w)) continue;
            x.columns.push_back(static_cast<std::int32_t>((z * side + y) * side + w));
            x.values.push_back(static_cast<float>(d % 5) - 2.5f);
        }
        x.begins.push_back(static_cast<std::int32_t>(x.columns.size()));
    }
    return x;
}

std::vector<sample> make_samples() {
    index_t const nodes = index_t{1} << 18;
    std::vector<sample> all;
    all.push_back({"graph 2.1, hubs first", make_graph(nodes, 2.1, 16, true)});
    all.push_back({"graph 2.1, scattered", make_graph(nodes, 2.1, 16, false)});
    all.push_back({"graph 2.6, hubs first", make_graph(nodes, 2.6, 16, true)});
    all.push_back({"graph 2.6, scattered", make_graph(nodes, 2.6, 16, false)});
    all.push_back({"stencil of 27", make_stencil(64)});
    all.push_back({"pruned 70%", make_csr(4096, 1024, [](index_t) { return index_t{307}; })});
    all.push_back({"pruned 75%", make_csr(1024, 4096, [](index_t) { return index_t{1024}; })});
    all.push_back({"pruned 90%", make_csr(2048, 2048, [](index_t) { return index_t{205}; })});
    all.push_back({"empty rows", make_csr(nodes, nodes, [](index_t i) {
                       return static_cast<index_t>(static_cast<unsigned>(i) * 2654435761u % 5 == 0 ? 60 : 0);
                   })});
    index_t const half = nodes / 2;
    all.push_back(
        {"one dense row", make_csr(half, half, [&](index_t i) { return i == half / 3 ? half : 16; })});
    index_t const wide = index_t{1} << 20;
    all.push_back(
        {"half in a row", make_csr(wide / 16, wide, [&](index_t i) { return i == 0 ? wide : 16; })});
    all.push_back(
        {"uniform, as large", make_csr(wide / 16, wide, [](index_t) { return index_t{32}; }), false});
    return all;
}

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

    void run(sample const& s) {
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
            std::string const name = std::string(s.name) + " N " + std::to_string(n) + letter;
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
    void add_peers(std::vector<way>& ways, sample const& s, matrix_a const& x, index_t n,
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
    void run(sample const& s, matrix_a const& x, Pieces const& in_pieces, index_t n) {
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
        std::printf("%-22s%s N %3td %s", s.name, letter, n, same.c_str());
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
    auto const samples = make_samples();
    for (sample const& s : samples) {
        auto const rows = static_cast<std::size_t>(s.a.rows);
        index_t most = 0;
        for (std::size_t i = 0; i < rows; ++i)
            most = std::max<index_t>(most, s.a.begins[i + 1] - s.a.begins[i]);
        std::printf("%-22s %td x %td, %zu elements, longest row %td\n", s.name, s.a.rows, s.a.cols,
                    s.a.values.size(), most);
    }
    auto const of_type = [&]<class T>(T) {
        bench_of<T> bench(gpu, by, peer, filter, variants);
        for (sample const& s : samples) bench.run(s);
        bench.report();
    };
    of_type(0.0f);
    of_type(0.0);
}
