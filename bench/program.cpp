#include "program.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace bench {

options parse(int argc, char** argv, std::vector<std::string> const& own) {
    options o;
    o.threads = std::thread::hardware_concurrency() > 1 ? std::vector{1, 2} : std::vector{1};
    for (int i = 1; i < argc; ++i) {
        std::string const arg = argv[i], key = arg.substr(0, arg.find('='));
        std::string const value = key.size() < arg.size() ? arg.substr(key.size() + 1) : "";
        if (key == "--filter") {
            o.filter = value;
        } else if (key == "--quick") {
            o.quick = true;
        } else if (key == "--list") {
            o.list = true;
        } else if (key == "--names") {
            o.names = true;
        } else if (key == "--rounds") {
            o.rounds = std::max(1, std::atoi(value.c_str()));
        } else if (key == "--threads") {
            o.threads.clear();
            std::istringstream in(value);
            for (std::string n; std::getline(in, n, ',');)
                o.threads.push_back(std::max(1, std::atoi(n.c_str())));
        } else if (key == "--patience") {
            o.rule.patience = std::atof(value.c_str());
        } else if (key == "--json") {
            o.json = value;
        } else if (key == "--report") {
            o.report = value;
        } else if (key.rfind("--", 0) == 0 && std::find(own.begin(), own.end(), key.substr(2)) != own.end()) {
            o.own[key.substr(2)] = value;
        } else {
            std::cerr << "unknown option " << arg
                      << "; there are --filter= --quick --rounds= --threads= --patience= --json= --report= "
                         "--list --names";
            for (auto const& name : own) std::cerr << " --" << name << "=";
            std::cerr << "\n";
            std::exit(2);
        }
    }
    return o;
}

std::string times(long m, long n, long k) {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

std::vector<bench_case> cases_of_weights(int threads, std::size_t field) {
    std::vector<bench_case> all;
    for (bool const transposed : {false, true})
        for (long const m : {1, 4, 16, 64, 256, 1024, 4096})
            for (long const side : {1024, 4096}) {
                if (m > side) continue;
                bench_case c{"narrow weights to floats",
                             transposed ? "weights transposed" : "weights",
                             times(m, side, side),
                             {element::f32, m, side, side, threads}};
                c.p.b_transposed = transposed;
                c.bound = m < 16 ? limit::memory : limit::arithmetic;
                c.rounds = 7, c.only_if = "weights", c.field = field;
                all.push_back(std::move(c));
            }
    return all;
}

std::string bench_case::name() const {
    std::string s = family + "/" + label;
    std::replace(s.begin(), s.end(), ' ', '_');
    std::erase(s, ',');
    return p.threads ? s + "/threads:" + std::to_string(p.threads) : s;
}

namespace {

std::vector<bench_case> pick(std::vector<bench_case> const& all, options const& o) {
    std::regex const filter(o.filter);
    std::vector<bench_case> list;
    for (bench_case const& c : all)
        if ((!o.quick || c.quick) && (c.only_if.empty() || o.asks_for(c.only_if)) &&
            std::regex_search(c.name(), filter))
            list.push_back(c);
    return list;
}

result race_case(bench_case const& c, options const& o, arena const& where) {
    std::vector<contender*> field;
    for (auto const& who : where.fields[c.field]) field.push_back(who.get());
    race r(c.p, c.bound, field, *where.on, o.rule);
    for (int i = 0; i < (o.rounds ? o.rounds : c.rounds) && !r.lanes().empty(); ++i) r.round();
    r.finish();

    bool const tera = where.on->rate()[0] == 'T';
    result x{
        c.group,     c.family,  c.label,  "",       where.on->rate(), c.p.flops() * (tera ? 1e-12 : 1e-9),
        c.p.bytes(), r.lanes(), r.roof(), r.pace(), r.left_out()};
    if (c.p.threads) x.setting = std::to_string(c.p.threads) + (c.p.threads == 1 ? " thread" : " threads");
    if (c.p.type == element::i8) x.unit = tera ? "Top/s" : "Gop/s";
    if (tera)
        for (lane& l : x.lanes)
            for (double& rate : l.rates) rate /= 1000;
    return x;
}

bool write(std::string const& file, std::function<void(std::ostream&)> const& what) {
    std::ofstream out(file);
    what(out);
    if (!out.flush()) std::cerr << "cannot write " << file << "\n";
    return bool(out);
}

} // namespace

int run(std::string const& backend, options const& o, std::vector<bench_case> const& all,
        std::function<arena()> const& open, std::function<void(std::vector<result>&)> const& arrange,
        view const& shown_as) try {
    if (o.names) {
        for (bench_case const& c : all) std::cout << c.name() << ' ' << c.only_if << "\n";
        return 0;
    }
    auto const list = pick(all, o);
    if (list.empty()) {
        std::cerr << "no case of " << backend << " matches '" << o.filter << "'. The cases:\n";
        for (bench_case const& c : all) std::cerr << c.name() << "\n";
        return 1;
    }
    if (o.list) {
        for (bench_case const& c : list) std::cout << c.name() << "\n";
        return 0;
    }
    arena where;
    try {
        where = open();
    } catch (std::exception const& e) {
        std::cout << "skipped: " << e.what() << "\n";
        return 77;
    }
    facts about = where.on->about(o.threads);
    about.insert(about.end(), where.about.begin(), where.about.end());
    for (auto const& who : where.fields[0])
        if (!o.rule.errors || who->part() != role::library) about.emplace_back(who->name(), who->version());
    for (auto const& [key, value] : about) std::cout << key << ": " << value << std::endl;

    std::vector<result> results;
    for (bench_case const& c : list) {
        result x = race_case(c, o, where);
        bool const taken = !x.lanes.empty() || !x.left_out.empty();
        if (!shown_as.each || !taken) std::cerr << c.name() << (x.library() ? "" : ": not here") << std::endl;
        if (!taken) continue;
        if (shown_as.each) shown_as.each(x, std::size_t(&c - &list[0]) + 1, list.size());
        if (o.rule.errors) print_errors(std::cout, x);
        results.push_back(std::move(x));
    }
    if (results.empty()) return std::cout << "skipped: none of these cases is for this device\n", 77;
    if (arrange) arrange(results);
    std::string const body = shown_as.all ? shown_as.all(results) : "";
    if (!shown_as.all && !o.rule.errors) print_table(std::cout, results);
    bool const wrote_json = write(o.json.empty() ? backend + ".json" : o.json,
                                  [&](std::ostream& out) { write_json(out, backend, about, results); });
    bool const wrote_page = write(o.report.empty() ? "report.html" : o.report, [&](std::ostream& out) {
        if (shown_as.all)
            write_page(out, "stratagemm, " + backend, about, body);
        else
            write_html(out, "stratagemm, " + backend, about, results);
    });
    return wrote_json && wrote_page ? 0 : 1;
} catch (std::regex_error const& e) {
    return std::cerr << "the filter '" << o.filter << "' is no regular expression: " << e.what() << "\n", 2;
}

} // namespace bench
