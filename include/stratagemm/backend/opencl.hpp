// OpenCL devices: kernels compiled when they are first needed, kept in memory and on disk, queued in order.
//
//   sg::opencl gpu;                                   the first GPU, else whatever device there is
//   sg::opencl gpu{sg::opencl::find("RX 590")};       by a part of its name, or by type
//   sg::opencl gpu{queue};                            a cl_command_queue of your own, and its context
//   sg::opencl::matrix<float> a(gpu, host_a), c(gpu, m, n);
//   sg::gemm(gpu, a, b, c);                           returns when it is queued
//   c.download(host_c);                               waits
//
// Programs that include this link with the OpenCL loader (-lOpenCL). A policy is a reference to a queue: copies
// share it and its kernels. Products are queued and not waited for; an event is to be had from a marker on
// queue(). On a queue that is out of order each command begins with a barrier.
//
// Operands on the host are taken, too, if the header that brings them to a device is included (docs/devices.md).
#pragma once

#include "../device/device_matrix.hpp"
#include "../device/trial.hpp"
#include "../gemm.hpp"
#include "opencl/product.hpp"
#include "opencl/tuning/tuner.hpp"

STRATAGEMM_BEGIN

class opencl {
public:
    using space = opencl_memory;
    using arena = opencl_arena;
    static constexpr bool is_backend = true;
    using device = opencl_device;

    // An element of C depends on nothing but its row of A, its column of B, its element of E, the factors, the types and
    // the device, whatever is computed beside it: see docs/accuracy.md.
    bool invariant = false;

    // Every device of every platform.
    static std::vector<device> devices() { return opencl_devices(); }

    // The first device of a type whose name, vendor or platform has `text` in it.
    static device find(std::string_view text, cl_device_type type = CL_DEVICE_TYPE_ALL) {
        std::string names;
        for (device const& d : devices()) {
            if ((d.type & type) &&
                (d.name + '\n' + d.vendor + '\n' + d.platform_name).find(text) != std::string::npos)
                return d;
            names += (names.empty() ? "" : ", ") + d.name;
        }
        raise(error(errc::unsupported, "opencl",
                    ("CL_DEVICE_NOT_FOUND: no device is called '" + std::string(text) +
                     "'; there is: " + (names.empty() ? "none (install an OpenCL driver)" : names))
                        .c_str(),
                    CL_DEVICE_NOT_FOUND));
    }

    // The first GPU, else the first device. All policies made so share one queue.
    opencl() : session_(shared_session()) {}
    explicit opencl(device const& d) : session_(std::make_shared<opencl_session>(d)) {}
    explicit opencl(cl_command_queue queue) : session_(std::make_shared<opencl_session>(queue)) {}

    template <element T>
    using matrix = device_matrix<T, opencl>;

    cl_command_queue queue() const { return session_->queue(); }
    cl_context context() const { return session_->context(); }
    device const& where() const { return session_->device(); }
    // Why no product can run; success if one can.
    status ready() const { return session_->ready(); }
    status synchronize() const { return session_->synchronize(); }

    // A and B may have two types if one holds all numbers of the other; their product is that of the wider type. C has
    // the accumulator of the wider type, or the wider type itself if that has 16 bits. An epilogue has a device
    // source.
    template <class P>
    static constexpr verdict accepts =
        types_if(have_wider<typename P::a_type, typename P::b_type>&& element<typename P::wide_type> &&
                 !std::is_same_v<typename P::wide_type, std::int32_t> && !is_fp8<typename P::wide_type> &&
                 (std::is_same_v<typename P::c_type, typename P::scalar> ||
                  (std::is_same_v<typename P::c_type, typename P::wide_type> &&
                   sizeof(typename P::wide_type) == 2))) &
        epilogue_if(has_source<typename P::epilogue_type, opencl_epilogue<typename P::scalar>>);

    // Sums of up to four matrices of one real or complex type, with or without up to four results.
    template <class P>
    static constexpr verdict accepts_operands = opencl_accepts_operands<P>();

    opencl_operations leaf() const { return opencl_operations(session_); }

    result<arena> reserve(footprint f) const {
        if (status s = session_->ready(); !s) return result<arena>(std::move(s));
        if (f.device == 0) return arena{};
        return or_no_memory([&] { return leaf().reserve(f.device); });
    }

    // Whichever way C lies: the shape does not tell.
    template <class S>
    footprint workspace(S const& s) const {
        using Scalar = accumulator_t<typename S::wide_type>;
        footprint f;
        opencl_sides const both[] = {{s.m, s.n, s.k, s.count}, {s.n, s.m, s.k, s.count}};
        for (opencl_sides const& sides : both)
            for (bool const along_k : {true, false})
                // Sums of one term into one target are a plain product.
                for (bool const combined : {false, is_combined<S>}) {
                    opencl_choice const choice = choice_for<typename S::wide_type>(sides, along_k, combined);
                    if (choice.part == 0) continue;
                    auto const sums = static_cast<std::size_t>(choice.parts(s.k) * s.m * s.n);
                    f.device = larger(f.device, arena::rounded(sums * sizeof(Scalar)));
                }
        return f;
    }

    // Each element is one sum in order; so are those of an operand that is a sum.
    template <class S>
    bound error_bound(S const& s) const {
        return chain_bound<S>(s.k + opencl_roundings<typename S::a_form> +
                              opencl_roundings<typename S::b_form>);
    }

    // From the counts and costs that choose the kernel (docs/costs.md), as for operands in row-major order.
    template <class S>
    double estimate(S const& s) const {
        return choice_for<typename S::wide_type>(sides_like(s), !is_low(s), is_combined<S>).clocks /
               clock_of(where());
    }

    // As for a C in row-major order. A shape does not tell how operands lie: of few columns or rows, it says both.
    template <class S>
    std::string describe(S const& s) const {
        opencl_sides const sides = sides_like(s);
        opencl_choice const choice = choice_for<typename S::wide_type>(sides, true, is_combined<S>);
        std::string text = "opencl: " + where().name + ", " + types_of<S>() + ", ";
        switch (choice.way) {
        case opencl_way::direct: return text + "direct";
        case opencl_way::small: return text + "small, in local memory";
        case opencl_way::narrow: {
            index_t const along_m = choice_for<typename S::wide_type>(sides, false).part;
            if (along_m == choice.part) {
                text += "narrow";
                break;
            }
            auto const parts = [](index_t part) {
                return part ? "k in parts of " + std::to_string(part) : std::string("k at once");
            };
            return text + "narrow, " + parts(choice.part) + " if the long operand lies along k, else " +
                   parts(along_m);
        }
        case opencl_way::tiled: text += "tiles of " + stratagemm::describe(choice.tile);
        }
        return choice.part ? text + ", k in parts of " + std::to_string(choice.part) : text;
    }

    // The same queue, with one tile for every product that can use it, and the direct kernel for the rest. With
    // `part`, k is summed in parts of that depth, or at once for 0.
    opencl with(opencl_tile const& tile, index_t part = -1) const {
        opencl one = *this;
        one.only_ = {tile, part};
        return one;
    }

    // Looks for the best tile for products of T of about this size, and keeps it for them: in this process, and in
    // the user's cache for the next. Nothing else looks for tiles; it takes as long as it is given.
    template <class T>
    result<opencl_tuned> tune(stratagemm::shape<T> const& s,
                              opencl_tuning_options const& options = {}) const {
        using Scalar = accumulator_t<T>;
        constexpr char sums = type_letter<Scalar>();
        auto found = tune_tile(*this, s, opencl_candidates(where(), sums, sizeof(Scalar)), options,
                               [&](opencl_tile const& tile) { return with(tile); });
        if (found && found->tile.threads() > 0)
            session_->tuning().keep(tuning_bucket(sums, s.m, s.n, s.k), found->tile);
        return found;
    }

    template <class Problem>
    status operator()(Problem const& p, arena& memory) const {
        return or_no_memory([&]() -> status {
            if constexpr (!is_dense<Problem>) {
                return multiply_combined(p, memory);
            } else {
                using product = opencl_product<Problem>;
                if constexpr (!has_one_type<Problem>)
                    if (product::is_turned(p.c))
                        return multiply(
                            opencl_product(*session_, invariant, p.transposed(), opencl_plain{}, true),
                            memory);
                return multiply(product(*session_, invariant, p), memory);
            }
        });
    }

private:
    // A C of few rows and more columns is computed as its transpose.
    template <class S>
    static bool is_low(S const& s) {
        return s.m <= opencl_narrow && s.m < s.n;
    }
    template <class S>
    static opencl_sides sides_like(S const& s) {
        return is_low(s) ? opencl_sides{s.n, s.m, s.k, s.count} : opencl_sides{s.m, s.n, s.k, s.count};
    }

    // Operands or a result that are made of several matrices.
    template <class S>
    static constexpr bool is_combined = requires {
        S::a_form::most_terms;
    }
    || requires { S::b_form::most_terms; }
    || requires { S::c_form::most_targets; };

    template <class Problem, class Rest>
    status multiply(opencl_product<Problem, Rest> const& product, arena& memory) const {
        if (status s = product.check(); !s) return s;
        constexpr bool combined = !std::is_same_v<Rest, opencl_plain>;
        return product.run(
            choice_for<typename Problem::wide_type>(product.sides(), product.a_along_k(), combined), memory);
    }
    template <class Problem>
    status multiply_combined(Problem const& p, arena& memory) const {
        opencl_stated<Problem> const x(p);
        if (x.is_plain()) return (*this)(x.first, memory);
        if (x.is_one_by_one()) {
            for (index_t i = 0; i < p.count; ++i)
                if (status s = multiply_combined(p.at(i), memory); !s) return s;
            return {};
        }
        return multiply(opencl_product(*session_, invariant, x.first, x.rest), memory);
    }

    static std::shared_ptr<opencl_session> shared_session() {
        // Never destroyed: drivers may be gone by the time that destructors of globals run.
        static auto* const shared = new std::shared_ptr<opencl_session>([] {
            auto const all = devices();
            if (all.empty())
                return std::make_shared<opencl_session>(
                    error(errc::unsupported,
                          "opencl: CL_DEVICE_NOT_FOUND: no platform has a device; install an OpenCL driver "
                          "(pocl-opencl-icd is one for CPUs)",
                          CL_DEVICE_NOT_FOUND));
            for (device const& d : all)
                if (d.type & CL_DEVICE_TYPE_GPU) return std::make_shared<opencl_session>(d);
            return std::make_shared<opencl_session>(all.front());
        }());
        return *shared;
    }

    template <class In>
    opencl_choice choice_for(opencl_sides const& s, bool along_k, bool combined = false) const {
        using Scalar = accumulator_t<In>;
        constexpr char sums = type_letter<Scalar>();
        opencl_choice only = only_;
        if (only.tile.threads() == 0 && s.count == 1)
            only.tile = session_->tuning().find(tuning_bucket(sums, s.m, s.n, s.k));
        // Choosing takes up to a third of the time of queueing a product, and products of one shape come again.
        struct known {
            cl_device_id device = nullptr;
            char sums = 0;
            bool along_k = false, combined = false, invariant = false;
            opencl_sides sides{};
            opencl_choice only, choice;
        };
        thread_local std::array<known, 64> all;
        std::uint64_t place = 0; // from the upper bits: the lower ones of sides are often zero
        for (std::ptrdiff_t const side : {s.m, s.n, s.k, s.count})
            place = (place ^ static_cast<std::uint64_t>(side)) * 0x9e3779b97f4a7c15u;
        known& k = all[(place >> 58) ^ (along_k ? 1u : 0u)];
        cl_device_id const id = session_->device().id;
        if (k.device != id || k.sums != sums || k.along_k != along_k || k.combined != combined ||
            k.invariant != invariant || k.sides != s || k.only.tile != only.tile || k.only.part != only.part)
            k = {id,
                 sums,
                 along_k,
                 combined,
                 invariant,
                 s,
                 only,
                 choose({session_->device(), sums, sizeof(Scalar), s, along_k, combined, invariant}, only)};
        return k.choice;
    }

    std::shared_ptr<opencl_session> session_;
    opencl_choice only_{{}, -1}; // no tile: chosen for each product
};

template <>
struct default_policy<opencl_memory> {
    using type = opencl;
};

STRATAGEMM_END
