#include "race.hpp"
#include "oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

namespace bench {

// ---- the operands, and whether a result is right ---------------------------------------------------------

// The operands on one machine.
struct race::place {
    struct set {
        machine::memory a, b, c, e;
    };
    machine& on;
    std::vector<set> sets;

    operands view(long run) const {
        auto const i = std::size_t(run) % sets.size();
        set const& x = sets[i];
        return {x.a.get(), x.b.get(), x.c.get(), x.e.get(), long(i)};
    }
};

struct race::data {
    struct verdict {
        bool correct;
        double error; // seen relative to |A||B|
    };
    virtual ~data() = default;
    virtual void bring(place&) const = 0;
    virtual void poison(place&) const = 0;
    virtual verdict check(place&, guarantee const&) const = 0; // by a vector of signs
    virtual double error(place&) const = 0;
    virtual void keep(place&) = 0;                                   // of the library's result
    virtual bool agrees(place& of_peer, guarantee const&) const = 0; // that result with a peer's
};

// Large operands of devices are one block of random numbers, repeated: making all of them would take longer
// than to measure. Its length is prime, so that no two rows are alike.
//
// The check is C x = A (B x) for a random vector of signs (Freivalds), which costs next to nothing and needs
// no contender to be trusted. On the host it is of all rows; of a large C on a device, of 96: the first, the
// last and some between.
template <class In, class Out>
struct race::typed_data final : race::data {
    static constexpr bool is_complex = stratagemm::complex_like<In>;
    using wide = std::conditional_t<is_complex, std::complex<double>, double>;
    struct band {
        long first, rows; // of C; of a batch, one after the other
    };

    problem const& p;
    std::vector<In> a, b;
    std::vector<Out> e;
    std::vector<double> signs;
    std::vector<band> bands;
    std::vector<wide> expected, bx;      // by rows of C, and by those of B for one product
    std::vector<double> sizes, bx_sizes; // the same with absolute values
    std::unique_ptr<oracle<In>> judge;
    static constexpr bool is_emulated = std::is_same_v<In, Out> &&
                                        std::is_same_v<In, stratagemm::accumulator_t<In>> &&
                                        std::is_floating_point_v<stratagemm::real_t<In>>;
    std::unique_ptr<sampled_oracle<std::conditional_t<is_emulated, In, float>>> sample; // on a device

    typed_data(problem const& problem, bool on_host, bool errors) : p(problem) {
        member const size = p.sizes();
        auto const block = [&](long n) { return std::size_t(on_host ? n : std::min(n, 2097143L)); };
        a.resize(block(size.a)), b.resize(block(size.b)), e.resize(p.added ? block(size.c) : 0);
        if constexpr (is_emulated)
            if (errors && !on_host) {
                a = draw<In>(long(a.size()), 0.5, 1), b = draw<In>(long(b.size()), 0.5, 2);
                sample = std::make_unique<sampled_oracle<In>>(p, a, b);
                for (long const row : sample->rows()) bands.push_back({row, 1});
                return;
            }
        if constexpr (std::is_floating_point_v<In>)
            if (errors) {
                a = draw<In>(size.a, 0.5, 1), b = draw<In>(size.b, 0.5, 2);
                judge = std::make_unique<oracle<In>>(p, a.data(), b.data(), 8);
                return;
            }
        // Numbers of minstd_rand from seeds whose ratio is small are correlated: an element of C would be far larger.
        fill(a, 1), fill(b, 1234567891), fill(e, 987654321);
        std::minstd_rand random{3};
        signs.resize(std::size_t(p.n));
        for (double& s : signs) s = random() % 64 < 32 ? -1 : 1;
        long const rows = p.m * p.count, some = 32;
        if (on_host || !p.group.empty() || size.c <= 1L << 22 || rows <= 3 * some)
            bands = {{0, rows}};
        else
            bands = {{0, some}, {(rows - some) / 2, some}, {rows - some, some}};
        expect();
    }

    template <class T>
    void fill(std::vector<T>& all, unsigned seed) const {
        std::minstd_rand random{seed};
        auto const uniform = [&] {
            double const u = double(random()) * (2.0 / 2147483647) - 1;
            return p.relu ? std::abs(u) : u;
        };
        for (T& x : all)
            if constexpr (is_complex)
                x = T(typename T::value_type(uniform()), typename T::value_type(uniform()));
            else if constexpr (std::is_integral_v<T>)
                x = static_cast<T>(std::lround(uniform() * 127));
            else
                x = static_cast<T>(
                    static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(uniform()));
    }
    template <class T>
    static wide value(T const& x) {
        if constexpr (is_complex)
            return wide(x.real(), x.imag());
        else
            return static_cast<double>(static_cast<stratagemm::accumulator_t<T>>(x));
    }
    template <class T>
    static wide value(std::vector<T> const& block, long i) {
        return value(block[std::size_t(i) % block.size()]);
    }

    // f(product, row in it, where the row begins among those of the bands)
    template <class F>
    void each_row(F&& f) const {
        for (member const& x : p.group)
            for (long r = 0; r < x.m; ++r) f(x, r, x.c + r * x.n);
        long at = 0;
        for (band const& some : bands)
            for (long g = some.first; p.group.empty() && g < some.first + some.rows; ++g, at += p.n)
                f(p.at(g / p.m), g % p.m, at);
    }
    void expect() {
        long of = -1;
        each_row([&](member const& x, long r, long) {
            if (std::exchange(of, x.b) != x.b) b_times_signs(x);
            wide sum = 0;
            double const factor = p.added ? 2 : 1;
            double size = 0;
            for (std::size_t l = 0; l < bx.size(); ++l) {
                wide const y =
                    factor * value(a, x.a + (p.a_transposed ? long(l) * x.m + r : r * x.k + long(l)));
                sum += y * bx[l], size += std::abs(y) * bx_sizes[l];
            }
            for (long j = 0; p.added && j < x.n; ++j) {
                wide const y = 3.0 * value(e, x.c + r * x.n + j);
                sum += y * signs[std::size_t(j)], size += std::abs(y);
            }
            expected.push_back(sum), sizes.push_back(size);
        });
    }
    void b_times_signs(member const& x) {
        bx.assign(std::size_t(x.k), wide(0)), bx_sizes.assign(std::size_t(x.k), 0);
        long const outer = p.b_transposed ? x.n : x.k, inner = p.b_transposed ? x.k : x.n;
        auto at = std::size_t(x.b) % b.size();
        for (long o = 0; o < outer; ++o)
            for (long i = 0; i < inner; ++i) {
                auto const l = std::size_t(p.b_transposed ? i : o), j = std::size_t(p.b_transposed ? o : i);
                wide const y = value(b[at]);
                bx[l] += y * signs[j], bx_sizes[l] += std::abs(y);
                if (++at == b.size()) at = 0;
            }
    }

    void bring(place& to) const override {
        auto const repeat = [&]<class T>(std::vector<T> const& block, long count) -> machine::memory {
            if (block.empty()) return nullptr;
            long const bytes = count * long(sizeof(T)), step = long(block.size() * sizeof(T));
            auto memory = to.on.allocate(bytes);
            for (long at = 0; at < bytes; at += step)
                to.on.upload(memory.get(), at, block.data(), std::min(step, bytes - at));
            return memory;
        };
        member const size = p.sizes();
        for (place::set& x : to.sets) {
            x.a = repeat(a, size.a), x.b = repeat(b, size.b), x.e = repeat(e, size.c);
            x.c = to.on.allocate(size.c * long(sizeof(Out)));
        }
    }
    // f(the first byte of a band of C, how many there are)
    template <class F>
    void each_band(F&& f) const {
        if (!p.group.empty() || bands.empty()) return f(0L, p.sizes().c * long(sizeof(Out)));
        for (band const& some : bands)
            f(some.first * p.n * long(sizeof(Out)), some.rows * p.n * long(sizeof(Out)));
    }
    std::vector<Out> result(place& from) const {
        std::vector<Out> c;
        each_band([&](long at, long bytes) {
            std::size_t const before = c.size();
            c.resize(before + std::size_t(bytes) / sizeof(Out));
            from.on.download(c.data() + before, from.sets[0].c.get(), at, bytes);
        });
        return c;
    }
    void poison(place& at) const override {
        each_band([&](long begin, long bytes) {
            std::vector<unsigned char> const nans(std::size_t(bytes), 0xff);
            at.on.upload(at.sets[0].c.get(), begin, nans.data(), bytes);
        });
    }
    // Of random signs, errors add up like a walk; C is rounded once more if it is narrow. A policy that
    // promises far less than a sum of such products is held to its promise.
    double tolerance(member const& x, guarantee const& promised) const {
        double const n = std::sqrt(double(x.n)), k = std::sqrt(double(x.k));
        double const sum = std::is_same_v<In, std::int8_t>       ? 0
                           : sizeof(stratagemm::real_t<In>) == 8 ? 0x1p-53
                                                                 : 0x1p-24;
        double const last = sizeof(Out) == 2 ? stratagemm::unit_roundoff<Out>() : 0;
        double const tf32 = p.type == element::tf32 ? 0x1p-10 : 0;
        double const factor = (p.added ? 6 : 1) * (is_complex ? 2 : 1);
        // Tensor cores keep 13 bits of the largest of 32 products of fp8.
        double const fp8 = p.type == element::fp8_bf16 ? 0x1p-12 * double(x.k) : 0;
        double const usual = 8 * sum * (double(x.k) + 4) + 4 * (last + tf32) * k + fp8;
        bool const is_less = last + tf32 == 0 && promised.worst > 4 * sum * (double(x.k) + 4);
        double const check = 4 * 0x1p-53 * double(x.n) * (double(x.k) + 1); // sums of a row, in double
        return factor * (n * (is_less ? promised.worst * double(x.k) : usual) + check);
    }
    verdict check(place& at, guarantee const& promised) const override {
        std::vector<Out> const c = result(at);
        std::size_t row = 0;
        verdict x{true, 0};
        each_row([&](member const& y, long, long begin) {
            wide sum = 0;
            for (long j = 0; j < y.n; ++j) sum += value(c[std::size_t(begin + j)]) * signs[std::size_t(j)];
            double const off = std::abs(sum - expected[row]);
            x.correct &= off <= tolerance(y, promised); // NaN is wrong too
            x.error = std::max(x.error, off / sizes[row++]);
        });
        return x;
    }
    double error(place& at) const override {
        if constexpr (std::is_same_v<In, Out> && std::is_floating_point_v<In>)
            if (judge) return judge->error(result(at).data());
        if constexpr (is_emulated)
            if (sample) return sample->error(result(at).data());
        return -1;
    }

    std::vector<Out> kept;
    void keep(place& at) override { kept = result(at); }

    // Where two results differ most, seen relative to |a_i| |b_j|, which is at least (|A||B|)_ij, ours has to be within
    // its bound of the exact sum: of so many elements. A peer that is less accurate than we are does no harm.
    bool agrees(place& of_peer, guarantee const& promised) const override {
        constexpr std::size_t most = 64;
        if constexpr (is_complex)
            return true;
        else {
            struct element_of_c {
                double difference;
                long row, column, at;
                bool operator<(element_of_c const& y) const {
                    return difference > y.difference;
                } // a heap's first
            };
            std::vector<Out> const theirs = result(of_peer);
            std::vector<element_of_c> apart;
            std::vector<double> const column_norms = norms_of_b();
            each_row([&](member const&, long row, long begin) {
                double const norm = norm_of_row(row);
                for (long j = 0; j < p.n; ++j) {
                    auto const at = std::size_t(begin + j);
                    double const off = std::abs(value(kept[at]) - value(theirs[at]));
                    double const scale = norm * column_norms[std::size_t(j)];
                    element_of_c const x{std::isnan(off) ? INFINITY
                                         : off > 0       ? off / scale
                                                         : 0,
                                         row, j, begin + j};
                    if (x.difference == 0 ||
                        (apart.size() == most && x.difference <= apart.front().difference))
                        continue;
                    if (apart.size() == most) std::pop_heap(apart.begin(), apart.end()), apart.pop_back();
                    apart.push_back(x), std::push_heap(apart.begin(), apart.end());
                }
            });
            return std::all_of(apart.begin(), apart.end(), [&](element_of_c const& x) {
                return is_within(promised, x.row, x.column, value(kept[std::size_t(x.at)]));
            });
        }
    }
    In const& of_a(long row, long l) const {
        return a[std::size_t(p.a_transposed ? l * p.m + row : row * p.k + l) % a.size()];
    }
    In const& of_b(long l, long column) const {
        return b[std::size_t(p.b_transposed ? column * p.k + l : l * p.n + column) % b.size()];
    }
    double norm_of_row(long row) const {
        double sum = 0;
        for (long l = 0; l < p.k; ++l) sum += std::norm(value(of_a(row, l)));
        return std::sqrt(sum);
    }
    std::vector<double> norms_of_b() const {
        std::vector<double> norms(std::size_t(p.n));
        for (long o = 0, i = 0; o < (p.b_transposed ? p.n : p.k); ++o) // as they lie
            for (long x = 0; x < (p.b_transposed ? p.k : p.n); ++x, i = i + 1 < long(b.size()) ? i + 1 : 0)
                norms[std::size_t(p.b_transposed ? o : x)] += std::norm(value(b[std::size_t(i)]));
        for (double& x : norms) x = std::sqrt(x);
        return norms;
    }
    bool is_within(guarantee const& promised, long row, long column, double ours) const {
        stratagemm::wide_sum<std::conditional_t<std::is_same_v<In, double>, double, float>> exact;
        double size = 0, low = 0;
        for (long l = 0; l < p.k; ++l) {
            auto const x = value(of_a(row, l)), y = value(of_b(l, column));
            if constexpr (std::is_same_v<In, double>)
                exact.add_product(x, y);
            else
                exact.add_product(float(x), float(y));
            size += std::abs(x * y);
        }
        if constexpr (requires { exact.low; }) low = exact.low;
        return std::abs((ours - exact.high) - low) <=
               promised.worst * (promised.normwise ? double(p.k) : size);
    }
};

// ---- the race --------------------------------------------------------------------------------------------

race::race(problem const& p, limit l, std::vector<contender*> const& all, machine& on, rules const& r)
    : problem_(p), limit_(l), on_(on), rules_(r) {
    // The GFLOP/s of a contender in the case before, which tell what is too slow without trying.
    static std::map<std::pair<std::string, int>, double> speeds;

    double patience = r.patience;
    bool const ours = std::any_of(all.begin(), all.end(), [&](contender* who) {
        return who->part() == role::library && who->takes(p);
    });
    for (contender* who : all) {
        bool const only_shown = r.errors && on.is_host() && who->part() == role::information;
        if (!ours || !who->takes(p) || only_shown) continue;
        double& speed = speeds[{who->name() + '/' + std::to_string(int(p.type)), p.threads}];
        std::string why = speed > 0 && p.flops() * 1e-9 / speed > patience ? "slow" : "";
        lane entry{who->name(), who->part(), {}, who->workspace(p), "", -1, {}, -1, who->estimate(p)};
        if (why.empty()) {
            racer one{who, &place_of(*who), 0};
            why = try_out(one, entry, patience);
            if (one.seconds > 0) speed = p.flops() * 1e-9 / one.seconds;
            if (why.empty()) racers_.push_back(one), lanes_.push_back(entry);
            if (why.empty() && r.sweep) compare();
        }
        if (!why.empty()) left_out_.push_back(entry.name + ": " + why);
        if (r.errors && on.is_host() && racers_.size() == 1 && p.flops() > 3e9)
            patience = std::min(r.patience, 3 * racers_[0].seconds);
    }
}

race::~race() = default;

// The result of the library, which ran first, with that of the first peer: after the last run of each.
void race::compare() {
    if (racers_.size() == 1) {
        if (lanes_[0].part == role::library) data_->keep(*racers_[0].at);
    } else if (racers_.size() == 2 && lanes_[0].part == role::library && lanes_[0].bound.worst >= 0 &&
               !data_->agrees(*racers_[1].at, lanes_[0].bound)) {
        left_out_.push_back(lanes_[0].name + ": beyond its error bound where " + lanes_[1].name + " differs");
        racers_.erase(racers_.begin()), lanes_.erase(lanes_.begin());
    }
}

race::place& race::place_of(contender& who) {
    machine& on = who.home() ? *who.home() : on_;
    for (auto const& known : places_)
        if (&known->on == &on) return *known;
    if (!data_) // only now: a case that nobody takes has none
        visit_all(problem_.type, [&]<class T>(T) {
            data_ = std::make_unique<typed_data<typename T::in, typename T::out>>(problem_, on_.is_host(),
                                                                                  rules_.errors);
        });
    auto const sets = std::size_t(on_.sets(problem_.bytes()));
    places_.push_back(std::make_unique<place>(place{on, std::vector<place::set>(sets)}));
    data_->bring(*places_.back());
    return *places_.back();
}

machine::runs race::runs_of(racer const& r) const {
    return [this, who = r.who, at = r.at](long i) { who->run(problem_, at->view(i)); };
}

// Why a contender is left out, if it is: a wrong call is worse than none.
std::string race::try_out(racer& r, lane& entry, double patience) {
    data_->poison(*r.at);
    try {
        r.who->enter(problem_);
        for (long set = 0; set < long(r.at->sets.size()); ++set) r.who->prepare(problem_, r.at->view(set));
        auto const start = std::chrono::steady_clock::now();
        r.who->run(problem_, r.at->view(0));
        r.seconds = seconds_since(start);
        entry.bound = r.who->bound(problem_);
        if (rules_.errors) {
            entry.error = data_->error(*r.at);
        } else {
            auto const [correct, error] = data_->check(*r.at, entry.bound);
            entry.error = error;
            if (!correct) return "wrong result";
        }
        entry.ran = r.who->ran(problem_);
        if (r.seconds > patience) return "slow";
        r.seconds = r.at->on.warm_up(runs_of(r), r.seconds);
    } catch (std::exception const& e) {
        return e.what();
    }
    return "";
}

double race::round() {
    double ours = 0;
    if (rules_.errors) {
        problem tiles = problem_;
        tiles.type = element::i8;
        pace_.push_back(on_.peak(tiles, limit::arithmetic) / std::max(1, problem_.threads));
    }
    roof_.push_back(rules_.sweep ? 0 : on_.peak(problem_, limit_));
    for (std::size_t turn = 0; turn < racers_.size(); ++turn) {
        std::size_t const i = rules_.alternate && roof_.size() % 2 == 0 ? racers_.size() - 1 - turn : turn;
        lane& l = lanes_[i];
        if (l.part == role::information && !l.rates.empty() && !rules_.errors) { // once
            l.rates.push_back(l.rates.front());
            continue;
        }
        // Thread pools spin for a while after their work (OpenBLAS's for some 25 ms) and would slow the next
        // contender.
        if (problem_.threads > 1 && racers_.size() > 1)
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
        racer& r = racers_[i];
        r.who->enter(problem_);
        double const seconds = r.at->on.sample(runs_of(r), r.seconds);
        l.rates.push_back(problem_.flops() * 1e-9 / seconds);
        if (l.part == role::library && ours == 0) ours = seconds;
    }
    return ours;
}

void race::finish() {
    if (rules_.errors || rules_.sweep) return;
    for (std::size_t i = 0; i < racers_.size(); ++i)
        if (lanes_[i].part == role::library) lanes_[i].queued = racers_[i].at->on.queued(runs_of(racers_[i]));
}

} // namespace bench
