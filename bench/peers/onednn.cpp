// oneDNN: dnnl_sgemm for one float product, the matmul primitive for bf16, int8 and batches. The peer that
// counts takes and returns plain row-major matrices, as our call does. With B reordered beforehand into the
// layout that oneDNN likes best it is shown for information.
#include "../contender.hpp"

#include <dnnl.hpp>
#include <omp.h>

#include <unordered_map>

namespace bench {
namespace {

using dnnl::memory;

class onednn final : public contender {
public:
    explicit onednn(bool packed) : packed_(packed) {}

    std::string name() const override { return packed_ ? "oneDNN, B packed" : "oneDNN"; }
    std::string version() const override {
        auto const* v = dnnl_version();
        return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
    }
    role part() const override { return packed_ ? role::information : role::peer; }

    bool takes(problem const& p) const override {
        if (packed_) return p.type == element::bf16 || p.type == element::i8;
        return p.type == element::f32 || p.type == element::bf16 || p.type == element::i8;
    }

    void enter(problem const& p) override { omp_set_num_threads(p.threads); }
    void prepare(problem const& p, operands const& x) override {
        if (by_sgemm(p)) return;
        memory::data_type in = memory::data_type::f32, out = memory::data_type::f32;
        if (p.type == element::bf16) in = memory::data_type::bf16;
        if (p.type == element::i8) in = memory::data_type::s8, out = memory::data_type::s32;
        auto const a = plain(p, p.m, p.k, p.a_transposed, in);
        auto const b = plain(p, p.k, p.n, p.b_transposed, in);
        auto const c = plain(p, p.m, p.n, false, out);
        auto const b_any = memory::desc(b.dims(), in, memory::format_tag::any);

        dnnl::matmul::primitive_desc const pd({a, packed_ ? b_any : b, c}, engine_);
        matmul_ = dnnl::matmul(pd);
        memory weights(b, engine_, const_cast<void*>(x.b));
        if (packed_) {
            memory reordered(pd.weights_desc(), engine_);
            dnnl::reorder(weights, reordered).execute(stream_, weights, reordered);
            stream_.wait();
            weights = reordered;
        }
        arguments_ = {{DNNL_ARG_SRC, memory(a, engine_, const_cast<void*>(x.a))},
                      {DNNL_ARG_WEIGHTS, weights},
                      {DNNL_ARG_DST, memory(c, engine_, x.c)}};
    }

    void run(problem const& p, operands const& x) override {
        if (by_sgemm(p)) {
            dnnl_sgemm(p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', p.m, p.n, p.k, 1.0f,
                       static_cast<float const*>(x.a), p.lda(), static_cast<float const*>(x.b), p.ldb(), 0.0f,
                       static_cast<float*>(x.c), p.ldc());
            return;
        }
        matmul_.execute(stream_, arguments_);
        stream_.wait();
    }

private:
    static bool by_sgemm(problem const& p) { return p.type == element::f32 && p.count == 1; }

    static memory::desc plain(problem const& p, long rows, long cols, bool transposed,
                              memory::data_type type) {
        long const row = transposed ? 1 : cols, col = transposed ? rows : 1;
        if (p.count == 1) return {memory::dims{rows, cols}, type, memory::dims{row, col}};
        return {memory::dims{p.count, rows, cols}, type, memory::dims{rows * cols, row, col}};
    }

    bool packed_;
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    dnnl::matmul matmul_;
    std::unordered_map<int, memory> arguments_;
};

} // namespace

std::unique_ptr<contender> make_onednn() { return std::make_unique<onednn>(false); }
std::unique_ptr<contender> make_onednn_packed() { return std::make_unique<onednn>(true); }

} // namespace bench
