#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/reference.hpp>
#include <stratagemm/gemm.hpp>

#include <array>
#include <complex>
#include <limits>
#include <span>
#include <string>
#include <vector>

#if __has_include(<cuda/std/mdspan>)
#    include <cuda/std/mdspan>
#endif

namespace sg = stratagemm;
using complex = std::complex<float>;

namespace {

// An mdspan by its members alone: what the library may ask of one.
struct default_accessor {};
template <class Nested, class Factor>
struct scaled_accessor {
    Factor factor;
    Nested nested;
    Factor scaling_factor() const { return factor; }
    Nested const& nested_accessor() const { return nested; }
};
template <class Nested>
struct conjugated_accessor {
    Nested nested;
    Nested const& nested_accessor() const { return nested; }
};
struct layout {
    std::array<std::size_t, 2> strides;
    std::size_t stride(std::size_t r) const { return strides[r]; }
};
template <class T, class Accessor = default_accessor>
struct span2d {
    using element_type = T;
    T* handle;
    std::array<int, 2> extents;
    layout map;
    Accessor access{};

    static constexpr std::size_t rank() { return 2; }
    T* const& data_handle() const { return handle; } // a reference, as in the standard
    int extent(std::size_t r) const { return extents[r]; }
    layout const& mapping() const { return map; }
    Accessor const& accessor() const { return access; }
};
// A matrix of Eigen by the members that tell where its elements are. Eigen has strides of its own index type, IsRowMajor
// as a number, and a data() that is constant for a constant matrix.
template <class T, int ByRows>
struct eigen2d {
    using value_type = T;
    enum { IsRowMajor = ByRows };
    std::vector<T> elements;
    long m, n, outer;

    T* data() { return elements.data(); }
    T const* data() const { return elements.data(); }
    long rows() const { return m; }
    long cols() const { return n; }
    long innerStride() const { return 1; }
    long outerStride() const { return outer; }
};
// An expression: it has sides, and no memory.
struct eigen_expression {
    using value_type = float;
    enum { IsRowMajor = 0 };
    long rows() const { return 1; }
    long cols() const { return 1; }
};

template <class T>
span2d<T> layout_right(T* p, int m, int n) {
    return {p, {m, n}, {{static_cast<std::size_t>(n), 1}}};
}
template <class T>
span2d<T> layout_left(T* p, int m, int n) {
    return {p, {m, n}, {{1, static_cast<std::size_t>(m)}}};
}
template <class T>
span2d<T> layout_stride(T* p, int m, int n, std::size_t rs, std::size_t cs) {
    return {p, {m, n}, {{rs, cs}}};
}
template <class T, class Accessor>
span2d<T, Accessor> with(span2d<T> const& s, Accessor a) {
    return {s.handle, s.extents, s.map, a};
}

// The number that a computation sees at (i, j).
template <class V>
auto element(V const& v, sg::index_t i, sg::index_t j) {
    return v.scale * (v.conjugate ? sg::conjugate(v(i, j)) : v(i, j));
}

} // namespace

TEST_CASE("borrowed matrices address what they say") {
    int x[24];
    for (int i = 0; i < 24; ++i) x[i] = i;
    CHECK(sg::row_major(x, 4, 6)(2, 3) == 15);
    CHECK(sg::row_major(x, 3, 4, 7)(2, 3) == 17);
    CHECK(sg::col_major(x, 4, 6)(2, 3) == 14);
    CHECK(sg::col_major(x, 3, 4, 5)(2, 3) == 17);
    CHECK(sg::strided(x + 23, 4, 6, -6, -1)(1, 2) == 15);
}

TEST_CASE("sub-views, transposes and both together") {
    int x[24];
    for (int i = 0; i < 24; ++i) x[i] = i;
    auto const v = sg::row_major(x, 4, 6);
    auto const part = v.block(1, 2, 2, 3);
    CHECK(part.rows == 2);
    CHECK(part.cols == 3);
    CHECK(part(0, 0) == v(1, 2));
    CHECK(part(1, 2) == v(2, 4));
    auto const t = sg::transposed(v);
    CHECK(t.rows == 6);
    CHECK(t(5, 3) == v(3, 5));
    CHECK(sg::transposed(t)(3, 5) == v(3, 5));
    CHECK(sg::transposed(part)(2, 1) == part(1, 2));
    CHECK(t.block(2, 1, 3, 2)(2, 1) == part(1, 2));
    // An empty part forms no address beyond the matrix.
    CHECK(v.block(4, 6, 0, 0).data == v.data);
    CHECK(v.block(4, 0, 0, 6).rows == 0);
}

TEST_CASE("blocks that are not within the matrix are refused") {
    int x[24] = {};
    auto const v = sg::row_major(x, 4, 6);
    sg::matrix<float> m(4, 5);
    sg::matrix<float> const& constant = m;
    sg::index_t const blocks[][4] = {{0, 0, 40, 5}, {0, 0, 5, 5},  {1, 0, 4, 1},  {0, 5, 1, 2}, {-1, 0, 1, 1},
                                     {0, -1, 1, 1}, {0, 0, -1, 1}, {0, 0, 1, -1}, {5, 0, 0, 0}, {0, 7, 0, 0}};
    for (auto const& [i, j, rows, cols] : blocks) {
        CHECK_THROWS_AS(v.block(i, j, rows, cols), sg::error);
        CHECK_THROWS_AS(m.block(i, j, rows, cols), sg::error);
        CHECK_THROWS_AS(constant.block(i, j, rows, cols), sg::error);
    }
    try {
        (void)m.block(0, 0, 40, 5);
        FAIL("it was taken");
    } catch (sg::error const& e) {
        CHECK(e.code() == sg::errc::shape);
        CHECK(support::contains(e.what(), "block(0, 0, 40, 5) is not within a matrix of 4 x 5"));
    }
    CHECK(m.block(0, 0, 4, 5).rows == 4);
    CHECK(m.block(4, 5, 0, 0).rows == 0);
    CHECK(v.part(0, 0, 40, 5).rows == 40); // for algorithms, which know what they do
}

TEST_CASE("sums and spreads are divided and turned as one") {
    float x[24] = {}, y[24] = {};
    auto const s = sg::sum(sg::row_major(x, 4, 6), sg::scaled(-2.0f, sg::row_major(y, 4, 6)));
    static_assert(sg::operand<decltype(s)>);
    CHECK(s.rows == 4);
    CHECK(s.cols == 6);
    CHECK(s.terms == 2);
    CHECK(s.term[1].scale == -2);
    auto const part = s.part(1, 2, 2, 3);
    CHECK(part.rows == 2);
    CHECK(part.term[1].data == y + 8);
    CHECK(part.term[1].scale == -2);
    auto const turned = sg::transposed(s);
    CHECK(turned.rows == 6);
    CHECK(turned.term[0].row_stride == 1);
    CHECK(s.moved(5).term[0].data == x + 5);
    sg::spread<sg::view<float>, 2> to;
    to.add(sg::row_major(x, 4, 6), 2.0f);
    to.add(sg::row_major(y, 4, 6), 1.0f, 6.0f, sg::scaled(0.5f, sg::row_major(y, 4, 6)));
    auto const lower = to.part(2, 0, 2, 6);
    CHECK(lower.rows == 2);
    CHECK(lower.at[0].to.data == x + 12);
    CHECK(lower.at[1].from.data == y + 12);
    CHECK(lower.at[1].keep == 3); // what scales the matrix is a part of its factor
    CHECK(lower.at[1].from.scale == 1);
    CHECK(to.transposed().cols == 4);
    int views = 0;
    to.each_view([&](auto const&) { ++views; });
    CHECK(views == 2);
}

TEST_CASE("a view of T is a view of T const") {
    float x[4] = {1, 2, 3, 4};
    auto v = sg::scaled(3.0f, sg::row_major(x, 2, 2));
    sg::view<float const> const c = v;
    CHECK(c.data == x);
    CHECK(c.scale == 3.0f);
    static_assert(!std::is_convertible_v<sg::view<float const>, sg::view<float>>);
}

TEST_CASE("scaling and conjugation compose in the order in which they are written") {
    complex x[1] = {{1, 2}};
    auto const v = sg::row_major(x, 1, 1);
    complex const f(0, 3);
    CHECK(element(sg::scaled(f, sg::conjugated(v)), 0, 0) == f * std::conj(x[0]));
    CHECK(element(sg::conjugated(sg::scaled(f, v)), 0, 0) == std::conj(f * x[0]));
    CHECK(element(sg::conjugated(sg::conjugated(v)), 0, 0) == x[0]);
    CHECK(element(sg::scaled(f, sg::scaled(f, v)), 0, 0) == f * f * x[0]);
    auto const batch = sg::conjugated(sg::transposed(sg::scaled(f, sg::batched(v, 3, 1))));
    CHECK(batch.count == 3);
    CHECK(element(batch.first, 0, 0) == std::conj(f * x[0]));
}

TEST_CASE("mdspan-shaped operands are taken by their members") {
    std::vector<float> x(40);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    auto const right = sg::as_view(layout_right(x.data(), 4, 6));
    static_assert(std::is_same_v<std::remove_cv_t<decltype(right)>, sg::view<float>>);
    CHECK(right.rows == 4);
    CHECK(right(2, 3) == 15);
    CHECK(sg::as_view(layout_left(x.data(), 4, 6))(2, 3) == 14);
    CHECK(sg::as_view(layout_stride(x.data(), 3, 4, 2, 9))(2, 3) == 31);
    CHECK(sg::transposed(layout_right(x.data(), 4, 6))(3, 2) == 15);
    float const* read_only = x.data();
    static_assert(
        std::is_same_v<decltype(sg::as_view(layout_right(read_only, 4, 6))), sg::view<float const>>);
}

TEST_CASE("accessors of mdspan-shaped operands are taken apart in their order") {
    complex x[1] = {{1, 2}};
    complex const f(0, 3);
    auto const s = layout_right(x, 1, 1);
    using plain = default_accessor;
    scaled_accessor<plain, complex> const scaled{f, {}};
    conjugated_accessor<plain> const conjugated{};
    CHECK(element(sg::as_view(with(s, scaled)), 0, 0) == f * x[0]);
    CHECK(element(sg::as_view(with(s, conjugated)), 0, 0) == std::conj(x[0]));
    CHECK(element(sg::as_view(with(s, conjugated_accessor<decltype(scaled)>{scaled})), 0, 0) ==
          std::conj(f * x[0]));
    CHECK(element(sg::as_view(with(s, scaled_accessor<conjugated_accessor<plain>, complex>{f, conjugated})),
                  0, 0) == f * std::conj(x[0]));
}

TEST_CASE("a product of mdspan-shaped operands") {
    float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 2, 3, 4, 5, 6}, c[4] = {};
    sg::gemm(sg::reference{}, layout_right(a, 2, 3), layout_left(b, 3, 2), layout_right(c, 2, 2));
    CHECK(c[0] == 14);
    CHECK(c[1] == 32);
    CHECK(c[2] == 32);
    CHECK(c[3] == 77);
    auto const doubled = with(layout_right(a, 2, 3), scaled_accessor<default_accessor, int>{2, {}});
    sg::gemm(sg::reference{}, doubled, layout_left(b, 3, 2), layout_right(c, 2, 2));
    CHECK(c[3] == 154);
}

TEST_CASE("matrices of Eigen are taken by their members") {
    using columns = eigen2d<float, 0>;
    using rows = eigen2d<float, 64>; // a bit of its flags
    static_assert(sg::operand<columns&> && sg::operand<columns const&> && sg::operand<rows&>);
    static_assert(!sg::operand<eigen_expression&>);
    columns a{{1, 2, 0, 3, 4, 0, 5, 6, 0}, 2, 3, 3}; // 1 3 5, 2 4 6, with room between the columns
    rows const b{{1, 2, 3, 4, 5, 6}, 3, 2, 2};
    static_assert(std::is_same_v<decltype(sg::as_view(a)), sg::view<float>>);
    static_assert(std::is_same_v<decltype(sg::as_view(b)), sg::view<float const>>);
    CHECK(sg::as_view(a)(1, 2) == 6);
    CHECK(sg::as_view(b)(2, 0) == 5);
    CHECK(sg::transposed(a)(2, 0) == 5);

    columns c{std::vector<float>(4, -1.0f), 2, 2, 2};
    sg::gemm(sg::reference{}, a, b, c);
    CHECK(c.elements == std::vector<float>{35, 44, 44, 56});
    sg::gemm(sg::reference{}, 1, sg::transposed(b), sg::transposed(a), 1, c);
    CHECK(c.elements == std::vector<float>{70, 88, 88, 112});
}

TEST_CASE("vectors, arrays and spans become matrices with the sides that a caller gives") {
    std::vector<float> const a{1, 2, 3, 4, 5, 6};
    std::array<float, 6> b{1, 4, 2, 5, 3, 6};
    std::vector<float> c(5, -1.0f);
    sg::gemm(sg::reference{}, sg::row_major(a, 2, 3), sg::row_major(std::span<float>(b), 3, 2),
             sg::col_major(c, 2, 2, 3));
    CHECK(c == std::vector<float>{14, 32, -1, 32, 77});
    static_assert(std::is_same_v<decltype(sg::row_major(a, 2, 3)), sg::view<float const>>);
    static_assert(std::is_same_v<decltype(sg::col_major(c, 2, 2)), sg::view<float>>);

    // A view of a temporary vector would dangle; a span may be one.
    static_assert(!sg::lasting_range<std::vector<float>> && !sg::lasting_range<std::vector<float> const>);
    static_assert(sg::lasting_range<std::vector<float>&> && sg::lasting_range<std::span<float const>>);

    auto const refused = [](auto const& make) {
        try {
            static_cast<void>(make());
        } catch (sg::error const& e) {
            CHECK(e.code() == sg::errc::shape);
            return std::string(e.what());
        }
        return std::string("accepted");
    };
    CHECK(refused([&] { return sg::row_major(a, 2, 4); }) ==
          "row_major: the range has 6 elements, too few for a matrix of 2 x 4 with leading dimension 4");
    CHECK(refused([&] { return sg::col_major(a, 3, 2, 4); }) ==
          "col_major: the range has 6 elements, too few for a matrix of 3 x 2 with leading dimension 4");
    CHECK(refused([&] { return sg::row_major(a, -1, 2); }) != "accepted");
    CHECK(refused([&] { return sg::row_major(a, 2, 1, std::numeric_limits<sg::index_t>::max()); }) !=
          "accepted");
    CHECK(refused([&] { return sg::row_major(a, 2, 2, 4); }) ==
          "accepted"); // the last row ends with its elements
    CHECK(refused([&] { return sg::row_major(a, 0, 100); }) == "accepted");
}

TEST_CASE("what is no matrix is no operand") {
    static_assert(!sg::operand<int> && !sg::operand<std::vector<float>> && !sg::operand<float*>);
    static_assert(sg::operand<sg::matrix<float>&> && sg::operand<sg::matrix<float> const&>);
    static_assert(sg::operand<sg::view<float>> && sg::operand<sg::batch<float>> &&
                  sg::operand<span2d<float>>);
    SUCCEED();
}

#if __has_include(<cuda/std/mdspan>)
TEST_CASE("cuda::std::mdspan is an operand") {
    namespace md = cuda::std;
    float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 2, 3, 4, 5, 6}, c[4] = {};
    using square = md::dextents<int, 2>;
    md::mdspan<float const, square> const A(a, 2, 3);
    md::mdspan<float, square, md::layout_left> const B(b, 3, 2);
    md::mdspan<float, square, md::layout_stride> const C(
        c, md::layout_stride::mapping<square>(square(2, 2), md::array<int, 2>{2, 1}));
    sg::gemm(sg::reference{}, A, B, C);
    CHECK(c[0] == 14);
    CHECK(c[1] == 32);
    CHECK(c[3] == 77);
    sg::gemm(sg::reference{}, sg::transposed(B), B, C);
    CHECK(c[0] == 14);
    CHECK(c[3] == 77);
}
#endif
