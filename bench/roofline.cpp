#include "roofline.hpp"

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <iostream>

namespace bench {

std::vector<std::string> roofline_options(std::vector<std::string> more) {
    more.insert(more.end(), {"roofline", "data"});
    return more;
}

namespace {

std::string setting_of(int threads) {
    return threads == 0 ? "device" : std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

void write_ceilings(std::ostream& out, int threads, ceilings const& most) {
    for (auto const& unit : most.units)
        out << "unit | " << setting_of(threads) << " | " << name_of(unit.type) << " | " << unit.name << " | "
            << unit.rate << '\n';
    for (auto const& level : most.levels)
        out << "level | " << setting_of(threads) << " | " << level.name << " | " << level.bandwidth << '\n';
}

void write_points(std::ostream& out, result const& r, bench_case const& c) {
    for (lane const& l : r.lanes)
        out << "point | " << setting_of(c.p.threads) << " | " << name_of(c.p.type) << " | " << r.group
            << " | " << r.label << " | " << l.name << " | " << (l.part == role::library ? "library" : "peer")
            << " | " << c.p.flops() << " | " << c.p.bytes() << " | "
            << median(l.rates) * (r.unit[0] == 'T' ? 1000 : 1) << '\n';
    for (auto const& why : r.left_out)
        out << "left out | " << setting_of(c.p.threads) << " | " << name_of(c.p.type) << " | " << r.group
            << " | " << r.label << " | " << why << '\n';
}

} // namespace

std::vector<bench_case> roofline_cases(roofline_domain const& domain) {
    std::vector<bench_case> list;
    for (int const threads : domain.threads)
        for (element const type : domain.types) {
            auto const add = [&](std::string const& kind, long label, problem const& p) {
                list.push_back({kind, name_of(type) + (" " + kind), std::to_string(label), p});
                if (p.flops() > 1e9) list.back().rounds = 3;
            };
            std::string const side = std::to_string(domain.side);
            for (long const n : domain.squares) add("n x n x n", n, {type, n, n, n, threads});
            for (long const m : domain.rows)
                add("m x " + side + " x " + side, m, {type, m, domain.side, domain.side, threads});
            for (long const k : domain.sums)
                add(side + " x " + side + " x k", k, {type, domain.side, domain.side, k, threads});
        }
    return list;
}

int run_roofline(std::string const& backend, options const& o, roofline_domain const& domain,
                 std::function<arena()> const& open) {
    auto const cases = roofline_cases(domain);
    std::ofstream data(o.value("data", "roofline.txt"));
    data << std::setprecision(5);
    auto const open_and_measure = [&] {
        arena a = open();
        a.fields.resize(1);
        std::erase_if(a.fields[0], [](auto const& who) { return who->part() == role::information; });
        auto const tell = [&](facts const& list) {
            for (auto const& [key, value] : list)
                if (key != "date") data << "about | " << key << " | " << value << '\n';
        };
        tell(a.on->about(domain.threads)), tell(a.about);
        for (auto const& who : a.fields[0])
            data << "about | " << who->name() << " | " << who->version() << '\n';
        for (int const threads : domain.threads) write_ceilings(data, threads, domain.measure(threads));
        return a;
    };
    auto const write = [&](std::vector<result>& all) {
        for (result const& r : all)
            for (bench_case const& c : cases)
                if (c.family == r.family && c.label == r.label &&
                    (c.p.threads == 0 || setting_of(c.p.threads) == r.setting))
                    write_points(data, r, c);
    };
    int const status = run(backend, o, cases, open_and_measure, write);
    if (!data.flush()) return std::cerr << "cannot write " << o.value("data", "roofline.txt") << "\n", 1;
    return status;
}

} // namespace bench
