// Compressed products on a device, and their large elements: within the tolerance, refused, exact, certified; with the
// hashes of the host.
#include "catch.hpp"
#include "conformance/device/without_double.hpp"
#include "policies.hpp"
#include "unit/algorithm/compressed_cases.hpp"

#include <utility>
#include <vector>

using namespace trials;
using approximations::distance;
using approximations::norm_of;
using approximations::slow;
using planting::planted;
using sg::index_t;

namespace {

// A device whose memory is slow, so that what moves fewer bytes pays whatever a launch takes.
template <class Leaf>
struct leaf_of_slow_memory : Leaf {
    sg::device_limits limits() const {
        sg::device_limits all = Leaf::limits();
        all.bandwidth = 1e6;
        return all;
    }
};
struct of_slow_memory : under_test {
    auto leaf() const { return leaf_of_slow_memory<sg::leaf_of<under_test>>{under_test::leaf()}; }
    template <class S>
    double estimate(S const& s) const {
        return s.n == 16 ? 0 : 1e-5 * sg::multiply_adds(s); // vectors of a certificate are quick
    }
};

struct device_place {
    template <class T>
    using matrix = under_test::template matrix<T>;
    under_test const& device;

    under_test policy() const { return device; }
    auto slow(index_t m, index_t n) const { return approximations::slow<under_test>(device, m, n); }
    of_slow_memory of_lists() const { return {device}; }
    template <class T>
    matrix<T> put(sg::matrix<T> const& x) const {
        return matrix<T>(device, x);
    }
    template <class T>
    auto put(sg::csr<T> const& x) const {
        return sg::to_device(device, x);
    }
    template <class T>
    sg::matrix<T> here(matrix<T> const& x) const {
        sg::matrix<T> copy(x.rows(), x.cols());
        x.download(copy);
        return copy;
    }
    template <class List>
    auto elements(List const& list) const {
        using R = typename List::value_type;
        auto const count = static_cast<std::size_t>(list.nonzeros);
        std::vector<std::int32_t> rows(count), cols(count);
        std::vector<R> values(count);
        compressed_cases::elements<R> all;
        if (count == 0) return all;
        device.leaf().download(list.row_numbers, rows.data(), list.nonzeros).or_throw();
        device.leaf().download(list.columns, cols.data(), list.nonzeros).or_throw();
        device.leaf().download(list.values, values.data(), list.nonzeros).or_throw();
        for (std::size_t at = 0; at < count; ++at) {
            CHECK((at == 0 || std::pair(rows[at - 1], cols[at - 1]) < std::pair(rows[at], cols[at])));
            all[{rows[at], cols[at]}] = values[at];
        }
        return all;
    }
    template <class R>
    sg::matrix<R> estimates(sg::compressed_parts::sketch_size size, std::uint64_t seed,
                            sg::matrix<R> const& a, sg::matrix<R> const& b) const {
        using space = under_test::space;
        sg::compressed_options const options{.seed = seed};
        matrix<R> const x(device, a), y(device, b);
        matrix<R> c(device, a.rows(), b.cols());
        sg::compressed_parts::work<under_test, R> const work(device, options, x.view(), y.view());
        auto sketch = work.on_device(size);
        sg::footprint room;
        space::share(room) = work.bytes(size);
        auto memory = device.reserve(room);
        memory.or_throw();
        sketch.run(seed, *memory).or_throw();
        sg::view<R, space> const to = c.view();
        sketch.write(sg::dense_problem<R, R, R, space>{R(1), x.view(), y.view(), R(0), to, to}, false)
            .or_throw();
        return here(c);
    }
};
template <class R>
bool can_run(under_test const& device) {
    return !std::is_same_v<R, double> || device.leaf().limits().has_double;
}

} // namespace

TEST_CASE("the numbers of a sketch's buckets have a basis that moves along rows and columns") {
    for (int const row_bits : {0, 2, 5, 9})
        for (int const col_bits : {0, 3, 7})
            for (int const bits : {6, 8, 12})
                for (std::uint64_t seed = 0; seed < 50; ++seed) {
                    sg::compressed_parts::linear_hash const h(seed, 0, bits, row_bits, col_bits);
                    sg::compressed_parts::bucket_basis const basis(h, col_bits);
                    REQUIRE(basis.count == bits);
                    auto const origin = h.place_of(0, col_bits);
                    sg::compressed_parts::xor_span span;
                    for (int t = 0; t < bits; ++t) {
                        auto const moved = h.place_of(basis.at[t], col_bits) ^ origin;
                        CHECK(span.add(basis.at[t]));
                        if (t < basis.rows)
                            CHECK(moved.col == 0);
                        else if (t < basis.rows + basis.cols)
                            CHECK(moved.row == 0);
                    }
                    CHECK(basis.rows >= std::min(4, bits - col_bits));
                    CHECK(basis.rows + basis.cols >= std::min(4, bits - row_bits));
                }
}

TEMPLATE_TEST_CASE("compressed on a device", "", float, double) {
    under_test const device;
    if (!can_run<TestType>(device)) return;
    device_place const place{device};
    SECTION("buckets are those of the definition") { // sums are in another order than the host's
        compressed_cases::buckets_are_those_of_the_definition<TestType>(place);
    }
    SECTION("factors, E, epilogues, layouts") { compressed_cases::options_are_as_elsewhere<TestType>(place); }
    SECTION("large elements") {
        compressed_cases::heavy_finds_the_large_elements<TestType>(place,
                                                                   sg::compressed_form::walsh_hadamard);
    }
    SECTION("sparse operands") { compressed_cases::sparse_options_are_as_elsewhere<TestType>(place); }
    SECTION("large elements of sparse operands") {
        compressed_cases::heavy_finds_them_of_lists<TestType>(place);
    }
}
TEST_CASE("compressed on a device: products that were planted are found as often as the confidence says") {
    under_test const device;
    compressed_cases::planted_products_are_found(device_place{device}, 50,
                                                 sg::compressed_form::walsh_hadamard);
}
TEST_CASE("compressed on a device: refused, exact, certified, and bad options") {
    under_test const device;
    device_place const place{device};
    compressed_cases::refusals_and_exact_products(place);
    compressed_cases::sparse_refusals_and_exact_products(place);
    compressed_cases::a_certificate_finds_more_sparse_elements(place);
    auto const a = place.put(sg::matrix<float>(6, 5)), b = place.put(sg::matrix<float>(5, 7));
    auto c = place.put(sg::matrix<float>(6, 7));
    auto const fourier =
        sg::try_gemm(sg::compressed{place.slow(6, 7),
                                    {.tolerance = 1e-3, .nonzeros = 3, .form = sg::compressed_form::fourier}},
                     a, b, c);
    REQUIRE(!fourier);
    CHECK(fourier.error().code() == sg::errc::unsupported);
}

TEST_CASE("compressed and heavy on a device without double") {
    under_test const device;
    planted<float> const p(90, 75, 130, 60, 2);
    device_place::matrix<float> const a(device, p.a), b(device, p.b);
    device_place::matrix<float> c(device, 90, 75);
    slow const base{without_double{device}, 90, 75};
    sg::report made;
    sg::gemm(sg::compressed{base, {.tolerance = 1e-4, .certify = true, .report = &made, .nonzeros = 60}}, a,
             b, c);
    CHECK(made.ran == "compressed");
    CHECK(made.bound.worst <= 1e-4);
    sg::matrix<float> here(90, 75);
    c.download(here);
    CHECK(distance(here, p.c) <= 1e-4 * norm_of(p.a) * norm_of(p.b));
    auto const wrong =
        sg::try_gemm(sg::compressed{base, {.tolerance = 1e-3, .certify = true, .nonzeros = 3}}, a, b, c);
    REQUIRE(!wrong);
    CHECK(wrong.error().code() == sg::errc::verification);
    auto const large = sg::heavy(sg::compressed{base, {.nonzeros = 60}}, a, b, 2.0);
    CHECK(
        compressed_cases::has(device_place{device}.elements(large.view()), compressed_cases::above(p.c, 2)));
}
