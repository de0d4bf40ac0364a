// What the tensor cores of an NVIDIA device can do at most, measured: warpgroups multiply tiles in shared memory, again
// and again (sm_90a), and warps multiply doubles in registers (sm_90). Operands are random, because constants draw less
// power.
// Other devices have no figure: their tensor cores are left out.
#pragma once

#include "device_ceilings.hpp"

#include <stratagemm/backend/cuda.hpp>
#include <stratagemm/device/warpgroups.hpp>

namespace bench {

inline constexpr char tensor_text[] = R"cu(
#ifdef OF_DOUBLES
KERNEL(256) doubles(index steps, BUFFER(float, out)) {
    double sum[4][4] = {}, a[8], b[4];
    for (int i = 0; i < 8; ++i) a[i] = 1.0 / (ITEM + i + 3);
    for (int i = 0; i < 4; ++i) b[i] = 1.0 / (ITEM + i + 5);
    for (index at = 0; at < steps; ++at)
#pragma unroll
        for (int s = 0; s < 4; ++s)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                         "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                         : "+d"(sum[s][0]), "+d"(sum[s][1]), "+d"(sum[s][2]), "+d"(sum[s][3])
                         : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
                           "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
    if (sum[0][0] + sum[1][1] + sum[2][2] + sum[3][3] == 0.12345) out[0] = 1;
}
#else
/* Two warpgroups, each 64 x 256 from tiles whose lines have 128 bytes: 16 KiB of A and 32 KiB of B. */
KERNEL_AT_ONCE(256, 1) tiles(index steps, BUFFER(float, out)) {
    extern __shared__ char memory[];
    unsigned const start = (unsigned)__cvta_generic_to_shared(memory), base = (start + 1023) / 1024 * 1024;
    unsigned *const words = (unsigned *)(memory + (base - start));
    unsigned state = (unsigned)ITEM * 2654435761u + 12345u;
    for (int i = ITEM; i < (48 << 10) / 4; i += ITEMS) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        words[i] = (state & FREE_BITS) | SET_BITS;
    }
    hand_over();
    __syncthreads();
    unsigned long long const a = descriptor_of(base + ITEM / 128 * 8192, 128), b = descriptor_of(base + 16384, 128);
    SUM sum[128] = {};
    for (index at = 0; at < steps; ++at) {
        begin();
        for (int part = 0; part < 4; ++part) multiply(sum, a + 2 * part, b + 2 * part, 1);
        commit();
        wait_but_for<0>();
        are_there(sum);
    }
    SUM all = 0;
    for (int i = 0; i < 128; ++i) all += sum[i];
    if (all == (SUM)12345) out[0] = 1;
}
#endif
)cu";

class tensor_ceilings {
public:
    explicit tensor_ceilings(stratagemm::cuda const& gpu) : gpu_(gpu), out_(gpu, 1, 1) {}

    // Adds to `most`, and replaces what is slower there.
    void add_to(ceilings& most) {
        if (gpu_.leaf().warpgroup_units() == 0) return;
        add(most, element::bf16_bf16, tiles(&text_of<of::bf16>, 16));
        add(most, element::f16_f16, tiles(&text_of<of::f16>, 16));
        add(most, element::tf32, tiles(&text_of<of::tf32>, 8));
        add(most, element::i8, tiles(&text_of<of::s8>, 32));
        add(most, element::fp8_bf16, tiles(&text_of<of::e4m3>, 32));
        add(most, element::f64, doubles());
    }

private:
    enum class of { bf16, f16, tf32, s8, e4m3 };

    static void add(ceilings& most, element type, double rate) {
        std::erase_if(most.units, [&](auto const& x) { return x.type == type && x.rate < rate; });
        for (auto const& x : most.units)
            if (x.type == type) return;
        most.units.push_back({type, "tensor cores", rate});
    }
    // The bits of a word that are random, and those that are set: numbers from 0.5 to 2.
    template <of Type>
    static std::string text_of() {
        char const* const free = Type == of::bf16   ? "0x807f807fu"
                                 : Type == of::f16  ? "0x83ff83ffu"
                                 : Type == of::tf32 ? "0x807fe000u"
                                 : Type == of::s8   ? "0xffffffffu"
                                                    : "0x87878787u";
        char const* const set = Type == of::bf16   ? "0x3f003f00u"
                                : Type == of::f16  ? "0x38003800u"
                                : Type == of::tf32 ? "0x3f000000u"
                                : Type == of::s8   ? "0u"
                                                   : "0x38383838u";
        char const* const name = Type == of::bf16   ? "bf16"
                                 : Type == of::f16  ? "f16"
                                 : Type == of::tf32 ? "tf32"
                                 : Type == of::s8   ? "s8"
                                                    : "e4m3";
        return std::string("#define A_ALONG_K 1\n#define B_ALONG_K 1\n#define FREE_BITS ") + free +
               "\n#define SET_BITS " + set + "\n#define SUM " + (Type == of::s8 ? "unsigned" : "float") +
               "\n" + stratagemm::fetches_text + stratagemm::wgmma_text +
               stratagemm::wgmma_instructions<std::string>(name, 256, false);
    }

    // k: the depth of an instruction.
    double tiles(std::string (*text)(), int k) const {
        stratagemm::index_t const steps = 8192, groups = gpu_.leaf().warpgroup_units();
        stratagemm::device_kernel const run{"tiles", tensor_text, "",   256,
                                            false,   false,       text, (48 << 10) + 1024};
        double const flops = 2.0 * 2 * 64 * 256 * k * 4 * double(steps) * double(groups);
        return 1e-9 * flops /
               fastest_launch(gpu_, [&] { return gpu_.leaf().launch(run, groups, steps, out_.data()); });
    }
    double doubles() const {
        stratagemm::index_t const steps = 2048,
                                  groups = stratagemm::index_t{4} * gpu_.leaf().warpgroup_units();
        stratagemm::device_kernel const run{"doubles", tensor_text, "#define OF_DOUBLES\n", 256, true};
        double const flops = 2.0 * 16 * 8 * 16 * 4 * 8 * double(steps) * double(groups);
        return 1e-9 * flops /
               fastest_launch(gpu_, [&] { return gpu_.leaf().launch(run, groups, steps, out_.data()); });
    }

    stratagemm::cuda gpu_;
    mutable stratagemm::cuda::matrix<float> out_;
};

} // namespace bench
