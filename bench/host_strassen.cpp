// One level of Strassen's product over the host, and its base alone, which is what it has to beat. Compiled as
// library.cpp is.
#include "contender.hpp"

#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

namespace bench {
namespace {

template <class Make>
class policy final : public contender {
public:
    policy(std::string name, role part, Make make) : name_(std::move(name)), part_(part), make_(make) {}

    std::string name() const override { return name_; }
    std::string version() const override { return "-O2, no -march"; }
    role part() const override { return part_; }
    bool takes(problem const& p) const override {
        return (p.type == element::f32 || p.type == element::f64) && p.count == 1 && !p.a_transposed &&
               !p.b_transposed;
    }
    long workspace(problem const& p) const override {
        return p.type == element::f32 ? workspace_of<float>(p) : workspace_of<double>(p);
    }
    void run(problem const& p, operands const& x) override {
        p.type == element::f32 ? product<float>(p, x) : product<double>(p, x);
    }

private:
    template <class T>
    long workspace_of(problem const& p) const {
        return long(sg::plan(make_(p.threads), sg::shape<T>{p.m, p.n, p.k}).workspace().host);
    }
    template <class T>
    void product(problem const& p, operands const& x) {
        sg::gemm(make_(p.threads), sg::row_major(static_cast<T const*>(x.a), p.m, p.k),
                 sg::row_major(static_cast<T const*>(x.b), p.k, p.n),
                 sg::row_major(static_cast<T*>(x.c), p.m, p.n));
    }

    std::string name_;
    role part_;
    Make make_;
};

template <class Make>
std::unique_ptr<contender> make_policy(std::string name, role part, Make make) {
    return std::make_unique<policy<Make>>(std::move(name), part, make);
}

} // namespace

std::vector<std::unique_ptr<contender>> make_strassen_and_base() {
    auto const base = [](int threads) { return sg::host{.threads = threads}; };
    std::vector<std::unique_ptr<contender>> both;
    both.push_back(make_policy("strassen{host}", role::library,
                               [=](int threads) { return sg::strassen{base(threads)}; }));
    both.push_back(make_policy("host", role::peer, base));
    return both;
}

} // namespace bench
