// Prints the rows of the README's table of policies, backends and element types, as the verdicts of the policies have
// them: H, O, C and R for host, opencl, cuda and reference. A letter stands for every type of its column.
#include "prelude.hpp"

#include <stratagemm/algorithm/compressed.hpp>
#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/algorithm/verified.hpp>

#if __has_include(<CL/cl.h>)
#    include <stratagemm/backend/opencl.hpp>
#endif
#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
#    include <stratagemm/backend/cuda.hpp>
#endif

namespace {

// A policy's problem, with C in the type in which A B is summed.
template <class P, class T>
using plain = sg::dense_problem<T, T, sg::accumulator_t<T>, typename P::space>;

struct itself {
    template <class P, class T>
    static constexpr bool takes = sg::takes<P, plain<P, T>>;
};
template <template <class> class Layer>
struct layer {
    template <class P, class T>
    static constexpr bool takes = sg::takes<Layer<P>, plain<Layer<P>, T>>;
};
template <class P>
using gaussian_sketched = sg::sketched<P>;
struct staged {
    template <class P, class T>
    static constexpr bool takes = [] {
        if constexpr (std::is_same_v<typename P::space, sg::host_memory>)
            return false;
        else
            return sg::takes<sg::staged<P>, plain<sg::staged<P>, T>>;
    }();
};
// Operands that are not plain matrices.
template <class P, class T>
using in = sg::view<T const, typename P::space>;
template <class P, class T>
using out = sg::view<sg::accumulator_t<T>, typename P::space>;
struct sum {
    template <class P, class T>
    static constexpr bool takes =
        sg::takes<P, sg::problem<sg::sum_of<in<P, T>, 2>, in<P, T>, sg::spread<out<P, T>, 2>>>;
};
struct csr {
    template <class P, class T>
    static constexpr bool takes =
        sg::takes<sg::csr_product<P>,
                  sg::problem<sg::csr<T, std::int32_t, typename P::space>, in<P, T>, out<P, T>>>;
};
struct events {
    template <class P, class T>
    static constexpr bool takes =
        sg::takes<sg::csr_product<P>,
                  sg::problem<sg::event_matrix<T, typename P::space>, in<P, T>, out<P, T>>>;
};
struct transform {
    template <class P, class T>
    static constexpr bool takes = [] {
        using R = sg::real_t<T>;
        using To = std::conditional_t<sg::complex_like<T>, T, std::complex<R>>;
        if constexpr (std::is_same_v<R, float> || std::is_same_v<R, double>) {
            using product = sg::problem<sg::dft<R>, in<P, T>, out<P, To>>;
            return sg::takes<sg::performer<P, product>, product>;
        } else {
            return false;
        }
    }();
};
struct cosines {
    template <class P, class T>
    static constexpr bool takes = [] {
        using R = sg::real_t<T>;
        if constexpr (std::is_same_v<R, float> || std::is_same_v<R, double>)
            return sg::takes<sg::performer<P, sg::problem<sg::dct<R>, in<P, T>, out<P, T>>>,
                             sg::problem<sg::dct<R>, in<P, T>, out<P, T>>>;
        else
            return false;
    }();
};
struct walsh {
    template <class P, class T>
    static constexpr bool takes = [] {
        using R = sg::real_t<T>;
        if constexpr ((std::is_same_v<R, float> || std::is_same_v<R, double>)&&!sg::is_fp8<T>)
            return sg::takes<sg::hadamard_product<P>, sg::problem<sg::hadamard<R>, in<P, T>, out<P, T>>>;
        else
            return false;
    }();
};
struct transform_back {
    template <class P, class T>
    static constexpr bool takes = [] {
        using R = sg::real_t<T>;
        if constexpr (std::is_same_v<R, float> || std::is_same_v<R, double>)
            return sg::takes<sg::performer<P, sg::problem<sg::irdft<R>, in<P, T>, out<P, R>>>,
                             sg::problem<sg::irdft<R>, in<P, T>, out<P, R>>>;
        else
            return false;
    }();
};
struct toeplitz {
    template <class P, class T>
    static constexpr bool takes =
        sg::takes<sg::toeplitz_product<P>,
                  sg::problem<sg::toeplitz_matrix<T, typename P::space>, in<P, T>, out<P, T>>>;
};
struct by_transforms {
    template <class P, class T>
    static constexpr bool takes =
        sg::takes<sg::toeplitz_transforms_over<P>,
                  sg::problem<sg::toeplitz_matrix<T, typename P::space, sg::toeplitz_way::by_transforms>,
                              in<P, T>, out<P, T>>>;
};
struct kronecker {
    template <class P, class T>
    static constexpr bool takes =
        sg::takes<sg::kronecker_product<P>,
                  sg::problem<sg::kronecker_matrix<T, 2, typename P::space>, in<P, T>, out<P, T>>>;
};
struct diagonal {
    template <class P, class T>
    static constexpr bool takes =
        sg::takes<sg::single_element_product<P>,
                  sg::problem<sg::diagonal_matrix<T, typename P::space>, in<P, T>, out<P, T>>>;
};
struct factors {
    template <class P, class T>
    static constexpr bool takes = [] {
        using product = sg::problem<sg::factored<T, typename P::space>, in<P, T>, out<P, T>>;
        return sg::takes<sg::performer<P, product>, product>;
    }();
};
struct small_cores {
    template <class P, class T>
    static constexpr bool takes = [] {
        using space = typename P::space;
        using by_train = sg::problem<sg::train<T, space>, in<P, T>, out<P, T>>;
        using by_tucker = sg::problem<sg::tucker_view<T, space>, in<P, T>, out<P, T>>;
        using by_sum = sg::problem<sg::cp_view<T, space>, in<P, T>, out<P, T>>;
        return sg::takes<sg::performer<P, by_train>, by_train> &&
               sg::takes<sg::performer<P, by_tucker>, by_tucker> &&
               sg::takes<sg::performer<P, by_sum>, by_sum>;
    }();
};
struct random_matrix {
    template <class P, class T>
    static constexpr bool takes = [] {
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || sg::complex_like<T>) {
            using normals = sg::problem<sg::gaussian_sketch<T>, in<P, T>, out<P, T>>;
            using signs = sg::problem<sg::sign_sketch<T>, in<P, T>, out<P, T>>;
            using samples = sg::problem<sg::transformed_sketch<sg::by_hadamard, T>, in<P, T>, out<P, T>>;
            using cosines = sg::problem<sg::transformed_sketch<sg::by_dct, T>, in<P, T>, out<P, T>>;
            return sg::takes<sg::performer<P, normals>, normals> &&
                   sg::takes<sg::performer<P, signs>, signs> &&
                   sg::takes<sg::performer<P, samples>, samples> &&
                   sg::takes<sg::performer<P, cosines>, cosines>;
        } else {
            return false;
        }
    }();
};
struct sampled {
    template <class P, class T>
    static constexpr bool takes = [] {
        using list = sg::csr<T, std::int32_t, typename P::space>;
        using to = sg::sampled_matrix<sg::accumulator_t<T>, std::int32_t, typename P::space>;
        using product = sg::sampled_product<P>;
        return sg::takes<product, sg::problem<in<P, T>, in<P, T>, to>> &&
               sg::takes<product, sg::problem<list, list, to>>;
    }();
};
struct kept {
    template <class P, class T>
    static constexpr bool takes = [] {
        if constexpr (requires(sg::ozaki<P> const& policy, in<P, T> const& x) { sg::keep(policy, x); })
            return itself::takes<sg::ozaki<P>, T>;
        else
            return false;
    }();
};

template <class Row, class P, class... Types>
constexpr bool all = (Row::template takes<P, Types> && ...);
template <class Row, class... Types>
void cell() {
    std::string text;
    if (all<Row, sg::host, Types...>) text += " H";
#if __has_include(<CL/cl.h>)
    if (all<Row, sg::opencl, Types...>) text += " O";
#endif
#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
    if (all<Row, sg::cuda, Types...>) text += " C";
#endif
    if (all<Row, sg::reference, Types...>) text += " R";
    std::printf("%s |", text.c_str());
}
template <class Row>
void row(char const* name) {
    std::printf("| %s |", name);
    cell<Row, float>();
    cell<Row, double>();
    cell<Row, std::complex<float>>();
    cell<Row, std::complex<double>>();
    cell<Row, sg::half, sg::bfloat16>();
    cell<Row, std::int8_t>();
    cell<Row, sg::fp8_e4m3, sg::fp8_e5m2>();
    std::printf("\n");
}

} // namespace

int main() {
    row<itself>("backend alone");
    row<layer<sg::recursive>>("`recursive`: blocks in a cache-oblivious order");
    row<layer<sg::strassen>>("`strassen`: 7 products instead of 8, per level");
    row<layer<sg::ozaki>>("`ozaki`: from exact int8 products");
    row<layer<sg::split>>("`split`: from bfloat16 products");
    row<layer<sg::verified>>("`verified`: checked");
    row<layer<sg::monte_carlo>>("`monte_carlo`: approximate, from drawn columns and rows");
    row<layer<gaussian_sketched>>("`sketched`: approximate, by a random matrix");
    row<layer<sg::compressed>>("`compressed`: sketches of C, to a tolerance");
    row<staged>("`out_of_core`, `staged`: operands on the host");
    row<sum>("operands `sum`, results `spread`");
    row<csr>("operands `csr`, `coo`, `ell`, `blocked_ell`, `bsr`, `two_of_four`: sparse A or B");
    row<events>("operand `events`: mostly zero A or B");
    row<transform>("operand `dft`: a Fourier transform");
    row<cosines>("operand `dct`: a cosine transform");
    row<walsh>("operand `hadamard`: a Hadamard transform");
    row<transform_back>("operand `irdft`: half a spectrum to real numbers");
    row<toeplitz>("operands `toeplitz`, `hankel`, `circulant`, `block_toeplitz`");
    row<by_transforms>("`by_transforms` of these");
    row<kronecker>("operand `kronecker`");
    row<diagonal>("operands `diagonal`, `permutation`");
    row<factors>("operand `factored`, as `low_rank` makes it");
    row<small_cores>(
        "operands `train`, `tucker_view`, `cp_view`, as `tensor_train`, `tucker` and `cp` make them");
    row<random_matrix>("operands `gaussian`, `sparse_sign`, `count_sketch`, `srht`, `srct`: a random A or B");
    row<sampled>("result `sampled`: sparse C");
    row<kept>("operand `keep`: reused by `ozaki`");
}
