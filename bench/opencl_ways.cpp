// What every way to run a product takes on an OpenCL device: random products, each in all ways that the backend has.
//   opencl_ways [DEVICE [SEED [COUNT [TYPES [MOST [WORKERS]]]]]]
// DEVICE is a part of its name, by default of the first GPU; TYPES are letters: s, d, c, z of float, double and complex numbers, i of int8 (by default
// all). Up to MOST ways of a product are measured (by default 100): those that the costs say are good, and others by lot.
// Processes, WORKERS of them, compile the kernels first, into the folder of STRATAGEMM_CACHE_DIR. Operands take turns, so
// that they are not in caches. The program needs nothing but the OpenCL loader, so that it can be carried to a machine.
// opencl_ways.hpp says what is printed.
#include "opencl_ways.hpp"

#include <complex>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>

namespace {

using namespace bench;

struct asked {
    std::string device;
    std::vector<drawn_product> shapes;
    std::string types;
    std::size_t most = 100;
    int worker = -1, workers = 0; // which ways this process compiles
};

template <class T>
class racer {
    using Out = sg::accumulator_t<T>;
    using problem = sg::dense_problem<T, T, Out, sg::opencl_memory>;

public:
    explicit racer(sg::opencl const& device)
        : device_(device), session_(device.queue()), is_cpu_(device.where().type & CL_DEVICE_TYPE_CPU),
          length_((std::ptrdiff_t{1} << (is_cpu_ ? 26 : 29)) / static_cast<std::ptrdiff_t>(sizeof(Out))),
          in_(device, length_ / 1024, 1024), out_(device, length_ / 1024, 1024) {
        sg::footprint f;
        f.device = static_cast<std::size_t>(length_) * sizeof(Out);
        auto memory = device.reserve(f);
        memory.or_throw();
        memory_.emplace(std::move(*memory));
        std::mt19937 from(1);
        in_.upload(sg::matrix<T>(length_ / 1024, 1024, [&](index_t, index_t) {
            return static_cast<T>((static_cast<float>(from()) * 0x1p-31f - 1) *
                                  (std::is_integral_v<T> ? 127.0f : 1.0f));
        }));
    }

    bool fits(sg::device_sides const& s) const {
        return rounded(s.m * s.k * s.count) + rounded(s.k * s.n * s.count) <= length_ &&
               s.m * s.n * s.count <= length_ &&
               static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k * s.count) <
                   (is_cpu_ ? 5e7 : 3e10);
    }
    // Queues the product on one of several sets of operands.
    sg::status run(drawn_product const& x, opencl_way_taken const& w, index_t turn) {
        sg::device_sides const& s = x.sides;
        index_t const a_size = rounded(s.m * s.k * s.count), b_size = rounded(s.k * s.n * s.count),
                      c_size = rounded(s.m * s.n * s.count);
        index_t const sets = std::clamp<index_t>(length_ / std::max(a_size + b_size, c_size), 1, 16);
        auto const given = [](auto p, index_t offset, index_t rows, index_t cols) {
            p.data = p.data + offset, p.rows = rows, p.cols = cols, p.row_stride = cols, p.col_stride = 1;
            return p;
        };
        auto const in = std::as_const(in_).view();
        index_t const a = turn % sets * (a_size + b_size), b = a + a_size;
        problem p;
        p.a = x.a_along_k ? given(in, a, s.m, s.k) : sg::transposed(given(in, a, s.k, s.m));
        p.b = x.b_along_k ? sg::transposed(given(in, b, s.n, s.k)) : given(in, b, s.k, s.n);
        p.c = given(out_.view(), turn % sets * c_size, s.m, s.n);
        p.e = p.c;
        p.count = s.count, p.a_step = s.m * s.k, p.b_step = s.k * s.n, p.c_step = p.e_step = s.m * s.n;
        sg::opencl_product<problem> product(session_, false, p);
        if (product.sides() != s)
            return sg::error(sg::errc::unsupported, "opencl_ways: kernels take this product turned");
        if (w.choice.part > 0 && w.choice.parts(s.k) * s.m * s.n > length_)
            return sg::error(sg::errc::memory, "opencl_ways: more memory than there is");
        return product.run(w.choice, *memory_);
    }
    double measure(drawn_product const& x, opencl_way_taken const& w) {
        return measured([&](index_t turn) { run(x, w, turn).or_throw(); },
                        [&] { device_.synchronize().or_throw(); }, is_cpu_ ? 3000 : 1000);
    }

private:
    static index_t rounded(index_t count) { return (count + 127) / 128 * 128; }
    sg::opencl device_;
    sg::opencl_session session_;
    bool is_cpu_;
    index_t length_;
    sg::opencl::matrix<T> in_;
    sg::opencl::matrix<Out> out_;
    std::optional<sg::opencl_arena> memory_;
};

// The worker that compiles a way: kernels that differ in the lengths of lines alone get the same one.
int worker_of(drawn_product const& x, opencl_way_taken const& w, int workers) {
    std::size_t hash = static_cast<std::size_t>(x.a_along_k) * 2 + static_cast<std::size_t>(x.b_along_k);
    for (short const v : values_of(w.choice.tile)) hash = hash * 31 + static_cast<std::size_t>(v);
    return static_cast<int>((hash * 0x9e3779b97f4a7c15u >> 20) % static_cast<std::size_t>(workers));
}

template <class T>
void race(sg::opencl const& device, char type, asked const& how, opencl_ways_writer* to) {
    racer<T> all(device);
    std::mt19937 from(7);
    for (drawn_product const& x : how.shapes) {
        if (x.type != type || !all.fits(x.sides)) continue;
        if (to) (*to)(x);
        for (opencl_way_taken w : some_of(ways_of(query_of(x, device.where())), how.most, from)) {
            if (how.worker >= 0) {
                if (worker_of(x, w, how.workers) == how.worker) (void)all.run(x, w, 0);
                continue;
            }
            if (sg::status const s = all.run(x, w, 0); !s) {
                std::fprintf(stderr, "left out, %s: %s\n", describe(w.choice.tile).c_str(), s.error().what());
                continue;
            }
            w.microseconds = all.measure(x, w);
            (*to)(w);
        }
    }
    device.synchronize().or_throw();
}

void race_all(asked const& how) {
    sg::opencl const device = how.device.empty() ? sg::opencl() : sg::opencl(sg::opencl::find(how.device));
    std::optional<opencl_ways_writer> writer;
    if (how.worker < 0) writer.emplace(std::cout, device.where());
    opencl_ways_writer* const to = writer ? &*writer : nullptr;
    for (char const type : how.types) {
        if (type == 's') race<float>(device, type, how, to);
        if (type == 'd') race<double>(device, type, how, to);
        if (type == 'c') race<std::complex<float>>(device, type, how, to);
        if (type == 'z') race<std::complex<double>>(device, type, how, to);
        if (type == 'i') race<std::int8_t>(device, type, how, to);
    }
}

} // namespace

int main(int argc, char** argv) try {
    auto const number = [&](int place, int otherwise) {
        return argc > place ? std::atoi(argv[place]) : otherwise;
    };
    asked how;
    how.device = argc > 1 ? argv[1] : "";
    how.types = argc > 4 ? argv[4] : "sdciz";
    std::mt19937 from(static_cast<unsigned>(number(2, 1)));
    for (char const type : how.types)
        for (int i = 0; i < number(3, 90); ++i) how.shapes.push_back(draw_opencl(from, type, i));
    how.most = static_cast<std::size_t>(number(5, 100));
    how.workers = number(6, 0);
    in_workers(how.workers, [&](int worker) {
        how.worker = worker;
        race_all(how);
    });
    how.worker = -1;
    race_all(how);
} catch (std::exception const& e) {
    std::fprintf(stderr, "opencl_ways: %s\n", e.what());
    return 1;
}
