// The kernels of the CUDA backend, without a device:
//   cuda_kernels write ARCHITECTURE FOLDER      the final source of every kernel that is built in for it
//   cuda_kernels check PART/PARTS RECORD ARCHITECTURE...   compiles them with NVRTC; fails if a product spills
// The largest tile of each engine and element type, where registers are scarce, is compiled in all its forms for
// every architecture. sm_90a has all engines: for it the other tiles are compiled, too, for whole sums of row-major
// operands, with and without a rest of k. What has no tile is compiled for sm_90a and for the oldest, sm_75; for the
// others only if these two have another text of it. PARTS processes, numbered from 0, share a check: each takes every
// PARTS-th kernel. Exits with 77 where there is no NVRTC. An architecture is as NVRTC calls it: sm_75, sm_80, sm_90a,
// sm_100a.
// RECORD is a file of earlier lines of a check. The same version of NVRTC makes the same code of the same source, so a
// kernel with a line there is not compiled again: the numbers of its line are judged. The last word of a line is the
// hash of the source. One kernel of 32 is compiled all the same: where its line says something else, all lines are of
// another compiler or of other options, and the check fails.
#include <stratagemm/algorithm/compressed.hpp>
#include <stratagemm/algorithm/split/warpgroups.hpp>
#include <stratagemm/backend/cuda.hpp>
#include <stratagemm/structure/bsr.hpp>
#include <stratagemm/structure/dct.hpp>
#include <stratagemm/structure/events.hpp>
#include <stratagemm/structure/hadamard.hpp>
#include <stratagemm/structure/rdft.hpp>
#include <stratagemm/structure/sampled.hpp>
#include <stratagemm/structure/sketch.hpp>
#include <stratagemm/structure/toeplitz.hpp>
#include <stratagemm/structure/two_of_four.hpp>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace sg = stratagemm;

namespace {

struct complex64 { // as the library recognises complex numbers
    using value_type = float;
    float re, im;
    float real() const { return re; }
    float imag() const { return im; }
};
struct complex128 {
    using value_type = double;
    double re, im;
    double real() const { return re; }
    double imag() const { return im; }
};

struct kernel {
    std::string name;
    sg::cuda_source source;
    bool tuned; // held to its marks
};

// The form that a tile takes, if operands lie as given.
template <class In, class Tile>
sg::cuda_form taken(Tile const& tile, sg::cuda_form const& given = {}) {
    if constexpr (requires { tile.taken(sizeof(In), given); })
        return tile.taken(sizeof(In), given);
    else if constexpr (requires { tile.taken(given); })
        return tile.taken(given);
    else
        return given;
}

// Forms that one engine has.
template <class In, class Out, class Add>
void add_forms(sg::cuda_blocked const&, int, Add const&) {}
template <class In, class Out, class Add>
void add_forms(sg::cuda_wgmma const&, int, Add const&) {}
// However operands lie, where it makes another kernel.
template <class In, class Out, class Add>
void add_forms(sg::cuda_fp64 const& tile, int, Add const& add) {
    for (int lying = 0; lying < 4; ++lying)
        for (char const* const more : {"", "-tail", "-gaps"}) {
            sg::cuda_form form;
            form.a_along_k = lying % 2 > 0, form.b_along_k = lying / 2 > 0;
            form.tail = std::string(more) == "-tail", form.dense = std::string(more) != "-gaps";
            bool const row_major = form.a_along_k && !form.b_along_k; // as above
            if (form.dense ? row_major : form.a_along_k == form.b_along_k || !tile.takes_any_lines())
                continue;
            add(std::string(form.a_along_k ? "-ak" : "-am") + (form.b_along_k ? "-bk" : "-bn") + more, form,
                true);
        }
}
// On sm_100a one of them keeps a word on the stack; nobody has measured there.
template <class In, class Out, class Add>
void add_forms(sg::cuda_simt const& tile, int capability, Add const& add) {
    for (bool const b_along_k : {false, true})
        if (tile.takes_any_lines()) {
            sg::cuda_form form;
            bool const turns = tile.turns_on_the_way();
            form.a_along_k = !turns, form.a_turned = turns;
            form.b_along_k = !turns && b_along_k, form.b_turned = turns && b_along_k;
            form.direct = tile.may_read_along_k();
            add(b_along_k ? "-nt-gaps" : "-gaps", form, capability == 90);
            form.leaves_out = true;
            add(b_along_k ? "-nt-gaps-short" : "-gaps-short", form, capability == 90);
        }
    for (bool const b_along_k : {false, true})
        if (tile.may_read_along_k()) {
            sg::cuda_form form;
            form.b_along_k = b_along_k, form.direct = form.dense = true;
            add(b_along_k ? "-nt-direct" : "-direct", form, capability == 90);
        }
}
// By pieces of four bytes, of eight (NT) and shifted.
template <class In, class Out, class Add>
void add_forms(sg::cuda_mma const& tile, int, Add const& add) {
    for (int way = 0; tile.takes_words(sizeof(In)) && way < 3; ++way) {
        sg::cuda_form form;
        form.b_along_k = way == 1, form.shifted = way == 2;
        form.a_unit = form.b_unit = static_cast<short>((way == 1 ? 8 : 4) / sizeof(In));
        char const* const ways[] = {"-gaps", "-nt-gaps", "-shifted"};
        add(ways[way], taken<In>(tile, form), true);
    }
}
// Whether two blocks of a cluster may add up their sums.
template <class Tile>
bool adds_up_together(Tile const& tile, std::size_t element) {
    return tile.adds_up_together(element) && sg::blocks_of_cluster(tile) == 1 &&
           tile.m * tile.n * 4 <= tile.stages * (tile.m + tile.n) * tile.k * static_cast<int>(element);
}

// Row-major operands, or as the kernel wants them; whole sums, and sums of parts of k. Or a group.
template <class In, class Out, class Tile>
void add_tile(std::vector<kernel>& to, int capability, Tile const& tile, bool group) {
    sg::cuda_epilogue<sg::accumulator_t<In>> const none{sg::identity{}};
    int const below = sg::blocks_below(tile);
    std::string const name = std::string(Tile::name) + '-' + sg::type_letter<In>() + '-' +
                             std::to_string(tile.m) + 'x' + std::to_string(tile.n) + 'x' +
                             std::to_string(tile.k) + (below > 1 ? "x" + std::to_string(below) : "") +
                             (std::is_same_v<Out, std::int8_t> ? "-to-b" : "");
    auto const add = [&](std::string const& which, sg::cuda_form const& form, bool tuned) {
        to.push_back({name + which, sg::cuda_product_source<In, Out>(tile, form, none), tuned});
    };
    if (group) {
        sg::cuda_form form = taken<In>(tile);
        form.table = 100;
        return add("-group", form, true);
    }
    for (bool const partial : {false, true}) {
        sg::cuda_form form = taken<In>(tile);
        form.partial = partial, form.dense = true;
        add(partial ? "-parts" : "", form, true);
    }
    add_forms<In, Out>(tile, capability, add);
    if (capability >= 90 && adds_up_together(tile, sizeof(In))) {
        sg::cuda_form form = taken<In>(tile);
        form.together = form.dense = true;
        add("-together", form, true);
    }
    if (tile.divides_last_round(sizeof(In))) {
        sg::cuda_form form = taken<In>(tile);
        form.tail = form.dense = true;
        add("-tail", form, true);
        form = {};
        form.tail = true;
        to.push_back({name + "-tail-gather",
                      sg::cuda_gather_source<In, Out>(sg::cuda_tail_definitions(tile, form), form, 1, none),
                      true});
    }
}

template <class Tile>
void add_entry(std::vector<kernel>& to, int capability, char type, Tile const& tile, bool group) {
    switch (type) {
    case 's':
    case 't': return add_tile<float, float>(to, capability, tile, group);
    case 'd': return add_tile<double, double>(to, capability, tile, group);
    case 'h': return add_tile<sg::half, sg::half>(to, capability, tile, group);
    case 'b':
        add_tile<std::int8_t, std::int8_t>(to, capability, tile, group);
        return add_tile<std::int8_t, std::int32_t>(to, capability, tile, group);
    case '4': return add_tile<sg::fp8_e4m3, float>(to, capability, tile, group);
    case 'c': return add_tile<complex64, complex64>(to, capability, tile, group);
    case 'z': return add_tile<complex128, complex128>(to, capability, tile, group);
    default: return; // bfloat16 is as half
    }
}

// The best block of small for many products of that side on an H200.
template <class In>
sg::cuda_small small_of(int side) {
    sg::cuda_device device;
    device.capability = 90, device.units = 132, device.shared_bytes = 227 * 1024;
    device.cache_bytes = std::size_t{50} << 20, device.bytes_per_cycle = 16.7;
    sg::cuda_best_of<sg::cuda_small> best;
    sg::cuda_small::candidates({device, sg::type_letter<In>(), sizeof(In), {side, side, side, 10000}}, best);
    return best.tile;
}
template <class In, class Out>
void add_small(std::vector<kernel>& to, int side, sg::cuda_form const& form) {
    sg::cuda_epilogue<sg::accumulator_t<In>> const none{sg::identity{}};
    std::string const name = std::string("small-") + sg::type_letter<In>() + '-' + std::to_string(side) +
                             (form.dense ? "" : "-gaps");
    sg::cuda_small const tile = small_of<In>(side);
    to.push_back({name, sg::cuda_product_source<In, Out>(tile, form, none), true});
}

// The block of most rows, or of fewest, that a kernel for few columns may have; with so many slices, if any are named.
sg::cuda_narrow block_of(std::ptrdiff_t cols, std::size_t element, std::size_t scalar,
                         sg::cuda_narrow_form const& form, short slices = 0, bool fewest = false) {
    sg::cuda_narrow found;
    sg::cuda_narrow::each_block(cols, element, scalar, form, [&](sg::cuda_narrow const& t) {
        if (slices > 0 && t.slices != slices) return;
        if (found.m == 0 || (fewest ? t.m < found.m : t.m > found.m)) found = t;
    });
    return found;
}

// Few columns of In times an A that is narrower, and the copies that widen one.
template <class A, class In>
void add_widened(std::vector<kernel>& to, [[maybe_unused]] int capability) {
    sg::cuda_epilogue<float> const none{sg::identity{}};
    std::string const types = std::string(1, sg::type_letter<A>()) + sg::type_letter<In>();
    for (std::ptrdiff_t const cols : {1, 4})
        for (bool const along_k : {false, true}) {
            sg::cuda_form form;
            form.a_along_k = form.b_along_k = along_k, form.dense = true;
            sg::cuda_narrow const tile = block_of(cols, sizeof(A), sizeof(float), {along_k});
            to.push_back({"narrow-" + types + '-' + std::to_string(cols) + (along_k ? "-along" : ""),
                          sg::cuda_product_source<In, float, A>(tile, form, none), true});
        }
    // Tiles of row-major operands and of a B along k, of which either is the narrower.
    if constexpr (std::is_same_v<A, sg::bfloat16>)
        for (auto const& e : sg::cuda_tiles_of<sg::cuda_simt>)
            for (bool const b_along_k : {false, true}) {
                if (capability != 90 || !e.tile.takes_any_lines()) continue;
                bool const turns = e.tile.turns_on_the_way();
                sg::cuda_form form;
                form.a_along_k = !turns, form.a_turned = turns;
                form.b_along_k = !turns && b_along_k, form.b_turned = turns && b_along_k;
                auto const unit = [](bool turned, bool narrower) -> short {
                    return !turned ? 4 : narrower ? 2 : 1;
                };
                form.direct = e.tile.may_read_along_k();
                std::string const tile = std::to_string(e.tile.m) + 'x' + std::to_string(e.tile.n) + '-' +
                                         std::to_string(e.tile.micro_m) + (b_along_k ? "-nt" : "");
                form.a_unit = unit(turns, false), form.b_unit = unit(form.b_turned, true);
                to.push_back({"simt-s" + types.substr(0, 1) + '-' + tile,
                              sg::cuda_product_source<float, float, float, A>(e.tile, form, none), true});
                form.a_unit = unit(turns, true), form.b_unit = unit(form.b_turned, false);
                to.push_back({"simt-" + types + '-' + tile,
                              sg::cuda_product_source<float, float, A>(e.tile, form, none), true});
            }
    std::string const from = std::string("#define FROM ") + sg::kernel_type<A>() + '\n';
    to.push_back({"pack-" + types, sg::cuda_source_of<In, In>("pack", sg::cuda_pack_text, none, from), true});
}

// Kernels for one column and for the most columns, along k and not.
template <class In>
void add_narrow(std::vector<kernel>& to, int capability) {
    using scalar = sg::accumulator_t<In>;
    sg::cuda_epilogue<scalar> const none{sg::identity{}};
    char const letter = sg::type_letter<In>();
    for (std::ptrdiff_t const cols : {std::ptrdiff_t{1}, sg::narrow_most(letter, 100000)})
        for (bool const along_k : {false, true}) {
            bool const on_tensor_cores = (sizeof(In) == 2 && capability >= 80 && (along_k || cols > 2)) ||
                                         (sizeof(In) == 1 && capability >= 80 && along_k) ||
                                         (std::is_same_v<In, double> && cols > 4 && capability >= 90);
            std::string const name =
                std::string("narrow-") + letter + '-' + std::to_string(cols) + (along_k ? "-along" : "");
            auto const add = [&](char const* which, bool words, bool shifted, bool together,
                                 bool fewest = false, bool across = false) {
                sg::cuda_form form;
                form.a_along_k = along_k,
                form.b_along_k = (on_tensor_cores || along_k) && !shifted && !across;
                form.dense = true, form.words = words, form.shifted = shifted, form.together = together;
                sg::cuda_narrow const tile = block_of(cols, sizeof(In), sizeof(scalar),
                                                      {along_k, on_tensor_cores, shifted}, 0, fewest);
                to.push_back({name + which, sg::cuda_product_source<In, scalar>(tile, form, none), true});
            };
            add("", false, false, false);
            if (sizeof(In) < 4 && along_k) add("-words", true, false, false);
            if (sizeof(In) < 4 && along_k && on_tensor_cores)
                add("-across", false, false, false, false, true);
            if (sizeof(In) < 16 && !along_k) add("-shifted", false, true, false);
            if (sizeof(In) == 2 && !along_k) add("-few", false, false, false, true);
            if (capability >= 90) add("-together", false, false, true);
        }
    if (sizeof(In) != 2 || capability < 80) return;
    for (std::ptrdiff_t const cols : {2, 16, 32, 64})
        for (short const slices : {1, 8, 4, 2})
            for (bool const together : {false, true}) {
                sg::cuda_form form;
                form.dense = form.shifted = true, form.together = together;
                if ((together && capability < 90) || !sg::cuda_narrow::can_slice(cols, slices)) continue;
                sg::cuda_narrow const tile =
                    block_of(cols, sizeof(In), sizeof(scalar), {true, true, true}, slices);
                to.push_back({std::string("narrow-") + letter + '-' + std::to_string(cols) +
                                  "-along-shifted-" + std::to_string(slices) + (together ? "-together" : ""),
                              sg::cuda_product_source<In, scalar>(tile, form, none), true});
                if (slices > 1) break;
            }
}

// For a result of several targets: the first tile of its engine, and what copies sums. fp64 may spill: it has nothing
// over where it stores, and does not where it multiplies.
template <class T, class Tile>
void add_combined(std::vector<kernel>& to, int capability) {
    sg::cuda_epilogue<sg::accumulator_t<T>> const none{sg::identity{}};
    char const letter[] = {sg::type_letter<T>(), '\0'};
    sg::cuda_device device;
    device.capability = capability, device.shared_bytes = 227 * 1024;
    for (auto const& e : sg::cuda_tiles_of<Tile>)
        if (std::strpbrk(e.types, letter) && e.tile.can_run(device, sizeof(T))) {
            std::string const name = std::string(Tile::name) + '-' + letter + "-spread";
            sg::cuda_form form = taken<T>(e.tile);
            form.spreads = form.dense = true;
            bool const tuned = !std::is_same_v<Tile, sg::cuda_fp64>;
            to.push_back({name, sg::cuda_product_source<T, T>(e.tile, form, none), tuned});
            form.tail = true;
            if (e.tile.divides_last_round(sizeof(T)))
                to.push_back({name + "-tail", sg::cuda_product_source<T, T>(e.tile, form, none), tuned});
            break;
        }
    to.push_back({std::string("pack-") + letter + "-sums",
                  sg::cuda_source_of<T, T>("pack", sg::cuda_pack_text, none, "#define SUMS 1\n"), true});
}

// Products into sparse matrices.
template <class T>
void add_sampled(std::vector<kernel>& to) {
    using Out = sg::accumulator_t<T>;
    sg::cuda_epilogue<Out> const none{sg::identity{}};
    auto const add = [&](char const* which, char const* name, std::string const& definitions, int items) {
        to.push_back({std::string("sampled-") + sg::type_letter<T>() + which,
                      sg::cuda_source_of(sg::sampled_kernel<T, Out, std::int32_t>(
                          name, definitions + none.definitions(), items)),
                      true});
    };
    sg::sampled_work work;
    add("", "dense_at_places", sg::choose_sampled(128, 1 << 20, 0).definitions(), work.items);
    add("-runs", "dense_at_places", sg::choose_sampled(128, 1 << 20, 16 / sizeof(T)).definitions(),
        work.items);
    // Teams within a warp and of a group; many places of C in a row, and all.
    auto const sparse = [&](char const* which, sg::sparse_work const& work) {
        add(which, "sparse_at_places", work.definitions(false), work.items);
    };
    sparse("-sparse-8", sg::choose_sparse(8, 64, 1 << 20, sizeof(Out)));
    sparse("-sparse-32", sg::choose_sparse(32, 1000, 1 << 20, sizeof(Out)));
    sparse("-sparse-dense", sg::choose_sparse(80, 4500, 8192, sizeof(Out)));
    sparse("-pieces", sg::choose_pieces(1 << 20, sizeof(Out)));
    sparse("-pieces-dense", sg::choose_pieces(8192, sizeof(Out)));
}

// Hadamard transforms of 1 << bits points: of rows and of columns, in one pass or several.
template <class T>
void add_hadamard(std::vector<kernel>& to, int bits) {
    sg::cuda_epilogue<T> const none{sg::identity{}};
    sg::device_limits room;
    room.group_items = 1024, room.group_bytes = 227 << 10;
    for (bool const across : {false, true})
        for (bool const by_sequency : {false, true}) {
            sg::hadamard_passes const passes(bits, sizeof(T), across, by_sequency, true, 1 << 20, room);
            for (int i = 0; i < passes.count; ++i) {
                if (by_sequency && !passes.at[i].last) continue; // as above
                to.push_back({std::string("hadamard-") + sg::type_letter<T>() + '-' + std::to_string(bits) +
                                  (across ? "-across" : "-along") + (by_sequency ? "-sequency" : "") +
                                  (passes.count > 1 ? "-pass-" + std::to_string(i + 1) : ""),
                              sg::cuda_source_of(sg::hadamard_kernel<T, T>(passes.at[i], none.definitions())),
                              true});
            }
        }
}

// Lists of events: of one row, and of the most rows beside which all of B may be read, by rows and by columns. NVRTC
// keeps more in registers for later devices than there are, and of the plain list of 8 rows, for long rows, some for
// earlier ones; nobody has measured there.
template <class T>
void add_events(std::vector<kernel>& to, int capability) {
    using Out = sg::accumulator_t<T>;
    constexpr int vector = std::is_same_v<T, float> ? 4 : std::is_same_v<T, double> ? 2 : 1;
    for (std::ptrdiff_t const rows : {1, 8})
        for (bool const along_k : {false, true})
            for (bool const ones : {false, true}) {
                if (ones && !std::is_same_v<T, float>) continue;
                sg::csr_work const work = sg::choose_events(rows, 20000, 20000, along_k ? 0 : vector);
                sg::csr_kinds const kinds{std::is_same_v<T, Out> && work.vectors, false, ones,
                                          work.span > 0 ? rows : 0, ones ? "byte" : sg::kernel_type<T>()};
                to.push_back(
                    {std::string("events-") + sg::type_letter<T>() + '-' + std::to_string(rows) +
                         (along_k ? "-along" : "") + (ones ? "-ones" : ""),
                     sg::cuda_source_of(sg::csr_kernel<T, Out, std::int32_t>("csr_times_dense", work, kinds)),
                     capability == 90 || (capability < 90 && (rows == 1 || work.span > 0))});
            }
}

// CSR times a vector: rows by themselves, and several together with elements of B in shared memory.
template <class T, class Index>
void add_csr_vector(std::vector<kernel>& to, bool ones = false) {
    for (bool const alone : {true, false})
        to.push_back({std::string("csr-vector-") + sg::type_letter<T>() +
                          (sizeof(Index) == 8 ? "-long" : "") + (ones ? "-ones" : "") +
                          (alone ? "-alone" : ""),
                      sg::cuda_source_of(sg::csr_vector_kernel<T, sg::accumulator_t<T>, Index>(
                          alone ? sg::csr_vector_work{1} : sg::csr_vector_work{32, 4096}, ones)),
                      true});
}

// CSR times dense, divided by rows and elements together: few columns, by rows and by columns, and more; and the sums of
// what segments leave.
template <class T, class Index>
void add_csr_merged(std::vector<kernel>& to) {
    using Sum = sg::accumulator_t<T>;
    constexpr int vector = std::is_same_v<T, float> ? 4 : std::is_same_v<T, double> ? 2 : 1;
    for (auto const& [n, loads] : {std::pair{1, 1}, {4, vector}, {4, 0}, {16, vector}, {256, vector}}) {
        auto const x = sg::choose_csr_merged<Sum>(100000, n, 2000000, loads);
        std::string const name = std::string("csr-merged-") + sg::type_letter<T>() +
                                 (sizeof(Index) == 8 ? "-long-" : "-") + std::to_string(n) +
                                 (loads == 0 ? "-along" : "");
        bool const stores = x.vectors && std::is_same_v<T, Sum>;
        for (bool const adds : {false, true})
            to.push_back({name + (adds ? "-adds" : ""),
                          sg::cuda_source_of(sg::csr_merged_kernel<T, Sum, Index>(x, stores, false, adds)),
                          !x.few || x.wide == 1}); // of the others, a word or two spill
        if (loads > 0)
            to.push_back({name + "-sums",
                          sg::cuda_source_of(sg::csr_carries_kernel<T, Sum, Index>(x.segment, x.few, n)),
                          true});
        if (loads == 0 || sizeof(Sum) > 4) continue;
        auto const pieces = sg::choose_csr(100000, 100000, n, 2000000, loads);
        to.push_back({"csr-pieces" + name.substr(10),
                      sg::cuda_source_of(sg::csr_kernel<T, Sum, Index>("csr_times_dense", pieces,
                                                                       {stores && n > 1, true, false})),
                      false}); // faster with some words spilled
    }
}

// The same of a sketch, which reads with signs and writes sampled rows, and of its transposed.
template <class T>
void add_srht(std::vector<kernel>& to, int bits) {
    sg::cuda_epilogue<T> const none{sg::identity{}};
    sg::device_limits room;
    room.group_items = 1024, room.group_bytes = 227 << 10;
    for (bool const across : {false, true})
        for (bool const forward : {false, true}) {
            sg::hadamard_passes passes(bits, sizeof(T), across, false, true, 1 << 20, room);
            passes.at[0].share_in = forward ? 1 : 2;
            passes.at[passes.count - 1].share_out = forward ? 2 : 1;
            for (int i = 0; i < passes.count; ++i)
                if (i == 0 || i + 1 == passes.count)
                    to.push_back(
                        {std::string("srht-") + sg::type_letter<T>() + '-' + std::to_string(bits) +
                             (across ? "-across" : "-along") + (forward ? "" : "-transposed") +
                             (passes.count > 1 ? "-pass-" + std::to_string(i + 1) : ""),
                         sg::cuda_source_of(sg::hadamard_kernel<T, T>(passes.at[i], none.definitions())),
                         true});
        }
}

// What draws the elements of sketches.
template <class T>
void add_sketch(std::vector<kernel>& to) {
    std::string const name = std::string("sketch-") + sg::type_letter<T>();
    to.push_back({name + "-normals", sg::cuda_source_of(sg::sketch_kernel<T>("write_normals")), true});
    to.push_back({name + "-sample", sg::cuda_source_of(sg::sketch_kernel<T>("write_sample")), true});
    for (char const* const which : {"count_signs", "list_signs", "list_rows_of_signs"})
        to.push_back({name + '-' + which, sg::cuda_source_of(sg::sign_kernel<T>(which)), true});
}
// What makes sketches of a product, in single buckets and in blocks of them; and what takes medians of few and of many.
template <class T>
void add_compressed(std::vector<kernel>& to) {
    namespace parts = sg::compressed_parts;
    std::string const name = std::string("compressed-") + sg::type_letter<T>() + '-';
    sg::cuda_epilogue<T> const none{sg::identity{}};
    auto const add = [&](std::string const& which, sg::device_kernel const& made) {
        to.push_back({name + which, sg::cuda_source_of(made), true});
    };
    for (int const bits : {0, 1, 2, 4})
        add("buckets-" + std::to_string(bits), parts::buckets_kernel<T>(bits, bits));
    for (int const sketches : {1, 13, 31}) {
        std::string const many = '-' + std::to_string(sketches);
        add("medians" + many, parts::medians_kernel<T>("write_medians", sketches, none.definitions()));
        add("count" + many, parts::medians_kernel<T>("count_large", sketches, {}));
        add("list" + many, parts::medians_kernel<T>("list_large", sketches, {}));
    }
    add("exact", parts::exact_elements_kernel<T>());
    add("places", parts::places_kernel());
}
// Norms and certificates, as devices without double have them.
template <class T>
void add_narrow(std::vector<kernel>& to) {
    for (char const* const which : {"narrow_squares", "times_vectors"})
        if (!sg::complex_like<T> || which[0] == 'n')
            to.push_back({std::string("approximate-") + sg::type_letter<T>() + '-' + which,
                          sg::cuda_source_of(sg::approximate_parts::narrow_kernel<T>(which)), true});
}
// Transforms of one launch: rows that lie one after another, by 16 bytes where that is possible, columns that lie side
// by side, and from columns to rows; chirps; and the second launch of a long transform.
template <class C>
void add_dft(std::vector<kernel>& to, int capability) {
    using R = sg::real_t<C>;
    using sg::index_t;
    sg::cuda_epilogue<C> const none{sg::identity{}};
    auto const add = [&](std::string const& which, sg::text_numbers numbers) {
        numbers.at[1] |= sg::dft_roomy;
        sg::dft_work<R> const by(static_cast<int>(numbers.at[0]), numbers.at[1]);
        auto made = sg::dft_kernel<C, C>(numbers, by.items);
        made.definitions = none.definitions();
        to.push_back(
            {std::string("dft-") + sg::type_letter<C>() + '-' + which, sg::cuda_source_of(made), true});
    };
    index_t const aligned = sg::dft_in_aligned | sg::dft_out_aligned,
                  along = aligned | sg::dft_in_unit | sg::dft_out_unit,
                  across = aligned | sg::dft_in_across | sg::dft_out_across;
    auto const ends = sg::dft_ends | sg::dft_in_moved | sg::dft_out_moved;
    for (index_t const n : {16, 64, 256, 960, 1024, 3125, 4096}) {
        if (capability != 90 && n != 64 && n != 4096) continue;
        sg::dft_work<R> const by(static_cast<int>(n), along);
        index_t const pairs = (by.can_pair(0) ? sg::dft_in_pairs : 0) |
                              (by.can_pair(by.steps.count - 1) ? sg::dft_out_pairs : 0);
        std::string const name = std::to_string(n);
        add(name, {{n, along | pairs, n, n, 0}});
        if (n == 64 || n == 960) add(name + "-ends", {{n, along | ends, n, n, 0}});
        add(name + "-across", {{n, across, n, n, 0}});
        if (n == 64 || (n == 4096 && capability >= 80)) // of the other one, a word spills on sm_75
            add(name + "-turned", {{n, aligned | sg::dft_in_across | sg::dft_out_unit, n, n, 0}});
    }
    // Of 16,384 floats some words spill.
    add("8192", {{8192, along, 8192, 8192, 0}});
    auto const chirp = sg::dft_in_chirp | sg::dft_out_chirp;
    if (capability == 90) add("67-chirp", {{135, along | chirp, 135, 135, 67}});
    if (capability == 90) add("1009-chirp", {{2025, along | chirp, 2025, 2025, 1009}});
    index_t const million = 1 << 20;
    add("1m-first",
        {{1024, aligned | sg::dft_in_across | sg::dft_in_unit | sg::dft_out_inside | sg::dft_out_unit, 1024,
          million, 0}});
    add("1m-last", {{1024, across | sg::dft_in_inside | along, million, million, 0}});
}

// Products by transforms in one launch and, for more points than it has, the first launch of the transform back. With
// doubles of 8192 points, and floats of 16,384, some words spill.
template <class T>
void add_spectrum(std::vector<kernel>& to, int capability) {
    using R = sg::real_t<T>;
    using sg::index_t;
    sg::cuda_epilogue<T> const none{sg::identity{}};
    auto const add = [&](std::string const& which, sg::text_numbers numbers) {
        if (!sg::complex_like<T>) numbers.at[1] |= sg::dft_real;
        numbers.at[1] |= sg::dft_roomy;
        sg::dft_work<R> const by(static_cast<int>(numbers.at[0]), numbers.at[1]);
        auto made = sg::spectrum_kernel<T>(numbers, by.items);
        made.definitions = none.definitions();
        to.push_back(
            {std::string("spectrum-") + sg::type_letter<T>() + '-' + which, sg::cuda_source_of(made), true});
    };
    index_t const whole = sg::dft_in_aligned | sg::dft_out_aligned | sg::spectrum_whole,
                  across = sg::dft_in_across | sg::dft_out_across, most = sizeof(R) == 4 ? 8192 : 4096;
    add(std::to_string(most), {{most, whole, most, most, 0}});
    if (capability != 90) return;
    add("960", {{960, whole, 960, 960, 0}});
    add("300-across", {{300, whole | across, 300, 300, 0}});
    add("1024-ends", {{1024, whole | sg::dft_ends, 1024, 1024, 0}});
    add("1m-back", {{1024, sg::dft_in_across | sg::dft_in_inside | sg::dft_out_inside | sg::spectrum_in, 1024,
                     index_t{1} << 20, 0}});
}
template <class T>
void add_toeplitz(std::vector<kernel>& to) {
    sg::cuda_epilogue<T> const none{sg::identity{}};
    for (bool const last : {false, true}) {
        auto made = sg::toeplitz_vectors_kernel<T>(last ? "toeplitz_vectors" : "toeplitz_sums", last);
        made.definitions = none.definitions();
        to.push_back({std::string(made.name) + '-' + sg::type_letter<T>(), sg::cuda_source_of(made), true});
    }
    for (auto made : {sg::sequence_kernel<T>(), sg::spectrum_rows_kernel<T>(8192)}) {
        made.definitions = none.definitions();
        to.push_back({std::string(made.name) + '-' + sg::type_letter<T>(), sg::cuda_source_of(made), true});
    }
}
// One launch with real numbers: of lines that lie one after another; of lines that lie side by side, with all that may
// end a product; and a chirp.
template <class In, class To>
void add_kind(std::vector<kernel>& to, int capability, std::string const& name, sg::dft_kind kind,
              sg::index_t more_flags = 0) {
    using R = sg::real_t<To>;
    using sg::index_t;
    sg::cuda_epilogue<To> const none{sg::identity{}};
    auto const add = [&](std::string const& which, sg::text_numbers numbers) {
        numbers.at[1] |= sg::dft_roomy;
        sg::dft_work<R> const by(static_cast<int>(numbers.at[0]), numbers.at[1]);
        auto made = sg::dft_kernel<In, To>(numbers, by.items);
        made.definitions = none.definitions();
        to.push_back({name + '-' + sg::type_letter<R>() + '-' + which, sg::cuda_source_of(made), true});
    };
    bool const is_real = is_cosine(kind);
    index_t const flags =
                      flags_of(kind) | more_flags | (is_real ? 0 : sg::dft_in_aligned | sg::dft_out_aligned),
                  along = flags | sg::dft_in_unit | sg::dft_out_unit,
                  across = flags | sg::dft_in_across | sg::dft_out_across,
                  chirp = sg::dft_in_chirp | sg::dft_out_chirp;
    for (index_t const n : {64, 960, 1024, 4096, 8192}) {
        if (capability != 90 && n != 64 && n != 8192) continue;
        index_t const h = n / 2;
        sg::dft_work<R> const by(static_cast<int>(h), along);
        index_t const pairs =
            (kind == sg::dft_kind::to_half && by.can_pair(0) ? sg::dft_in_pairs : 0) |
            (kind == sg::dft_kind::from_half && by.can_pair(by.steps.count - 1) ? sg::dft_out_pairs : 0);
        add(std::to_string(n), {{h, along | pairs, h, h, 0}});
        if (n == 64 || n == 1024) add(std::to_string(n) + "-across", {{h, across | sg::dft_ends, h, h, 0}});
    }
    if (capability == 90) add("134-chirp", {{135, along | chirp, 135, 135, 67}});
}
template <class R, class C>
void add_real_dft(std::vector<kernel>& to, int capability) {
    add_kind<R, C>(to, capability, "rdft", sg::dft_kind::to_half);
    add_kind<C, R>(to, capability, "irdft", sg::dft_kind::from_half);
    add_kind<R, R>(to, capability, "dct2", sg::dft_kind::cosine_2_halved);
    if (capability != 90) return;
    add_kind<R, R>(to, capability, "dct3", sg::dft_kind::cosine_3_halved);
    add_kind<R, R>(to, capability, "dct4", sg::dft_kind::cosine_4_halved);
    add_kind<R, R>(to, capability, "srct", sg::dft_kind::cosine_2_halved, sg::dft_sampled);
    add_kind<R, R>(to, capability, "srct-transposed", sg::dft_kind::cosine_3_halved, sg::dft_sampled);
}

std::vector<kernel> kernels_for(int capability) {
    std::vector<kernel> all;
    if (capability >= 90)
        add_combined<float, sg::cuda_simt>(all, capability),
            add_combined<double, sg::cuda_fp64>(all, capability);
    else
        add_combined<float, sg::cuda_blocked>(all, capability),
            add_combined<double, sg::cuda_blocked>(all, capability);
    add_combined<complex128, sg::cuda_blocked>(all, capability);
    sg::cuda_epilogue<float> const chain{
        sg::then(sg::relu, sg::gelu, sg::clamp(-1.0f, 1.0f), sg::scale(2.0f))};
    all.push_back(
        {"direct-s", sg::cuda_source_of<float, float>("direct", sg::cuda_direct_text, chain), true});
    for (int const slices : {1, 32})
        all.push_back({"gather-s-" + std::to_string(slices),
                       sg::cuda_gather_source<float, float>({}, {}, slices, chain), true});
    for (char const* const name : {"copy", "add", "fill", "apply"})
        all.push_back({std::string(name) + "-s",
                       sg::cuda_source_of({name, sg::elementwise_text,
                                           sg::kernel_types<float, float>() + chain.definitions()}),
                       true});
    for (bool const twice : {false, true})
        for (bool const across : {false, true})
            all.push_back({std::string("reals-z") + (twice ? "-twice" : "") + (across ? "-across" : ""),
                           sg::cuda_source_of(sg::as_reals<complex128>(twice, across)), true});
    all.push_back(
        {"pack-h", sg::cuda_source_of<sg::half, sg::half>("pack", sg::cuda_pack_text, chain), true});
    add_narrow<float>(all, capability), add_narrow<double>(all, capability),
        add_narrow<sg::half>(all, capability), add_narrow<std::int8_t>(all, capability);
    add_narrow<complex64>(all, capability), add_narrow<complex128>(all, capability);
    add_widened<sg::bfloat16, float>(all, capability), add_widened<sg::half, float>(all, capability);
    add_widened<std::int8_t, sg::bfloat16>(all, capability),
        add_widened<std::int8_t, sg::half>(all, capability);
    sg::cuda_form form;
    form.dense = true;
    for (int const side : {4, 7, 8, 16, 24, 32}) {
        add_small<float, float>(all, side, form);
        add_small<double, double>(all, side, form);
        add_small<sg::half, sg::half>(all, side, form);
    }
    add_small<std::int8_t, std::int32_t>(all, 16, form);
    add_small<complex64, complex64>(all, 8, form);
    add_small<complex128, complex128>(all, 32, form);
    for (int const side : {4, 32})
        all.push_back({"small-s-" + std::to_string(side) + "-chain",
                       sg::cuda_product_source<float, float>(small_of<float>(side), form, chain), true});
    form = {false, true}; // both the other way round, with gaps
    add_small<float, float>(all, 8, form);
    add_small<float, float>(all, 7, form);
    add_small<complex128, complex128>(all, 4, form);
    sg::cuda_device device;
    device.capability = capability;
    device.shared_bytes = capability >= 90 ? 227 * 1024 : capability >= 80 ? 99 * 1024 : 64 * 1024;
    sg::for_each_built_in([&]<class Tile>(sg::cuda_built_in<Tile> const& e) {
        for (char const* type = e.types; *type; ++type)
            if (e.tile.can_run(device, 1) && (*type != 't' || Tile::reads_lines()) &&
                Tile::takes_type(device, *type))
                add_entry(all, capability, *type, e.tile, false);
    });
    for (short const cluster : {1, 2}) // the widest (wgmma_widths.hpp)
        for (char const type : {'h', 'b'})
            if (capability == 90)
                add_entry(all, capability, type,
                          sg::cuda_wgmma{128, 304, static_cast<short>(type == 'b' ? 128 : 64), 3, 8, cluster},
                          false);
    for (auto const& e : sg::cuda_group_tiles)
        for (char const* type = e.types; *type; ++type)
            if (*type != 't') add_entry(all, capability, *type, e.tile, true);
    for (int const side : {16, 32, 64})
        for (sg::bsr_tiling const& tile : sg::bsr_tilings)
            for (bool const padded : {false, true})
                if (capability == 90)
                    all.push_back(
                        {(padded ? "blocked-ell-h-" : "bsr-h-") + std::to_string(side) + "-in-" +
                             std::to_string(tile.rows) + "x" + std::to_string(tile.cols),
                         sg::cuda_source_of(sg::bsr_kernel<sg::half, sg::half, int>(tile, side, padded)),
                         true});
    add_sketch<float>(all);
    if (capability == 90) add_sketch<double>(all), add_sketch<complex64>(all), add_sketch<complex128>(all);
    add_compressed<float>(all), add_narrow<float>(all);
    if (capability == 90) add_narrow<sg::half>(all), add_narrow<complex64>(all);
    if (capability == 90) add_compressed<double>(all);
    add_events<float>(all, capability);
    if (capability == 90) add_events<double>(all, capability);
    if (capability == 90) add_events<sg::half>(all, capability);
    if (capability == 90) {
        add_csr_vector<float, std::int32_t>(all), add_csr_vector<float, std::int64_t>(all);
        add_csr_vector<float, std::int32_t>(all, true), add_csr_vector<double, std::int32_t>(all);
        add_csr_vector<sg::half, std::int32_t>(all), add_csr_vector<complex128, std::int64_t>(all);
        add_csr_merged<float, std::int32_t>(all), add_csr_merged<double, std::int64_t>(all);
        add_csr_merged<sg::half, std::int32_t>(all), add_csr_merged<complex128, std::int32_t>(all);
    }
    add_csr_merged<float, std::int64_t>(all);
    sg::cuda_epilogue<float> const none{sg::identity{}};
    for (bool const b_along_k : {false, true})
        for (sg::two_of_four_tiling const& tile : sg::two_of_four_tilings)
            if (capability == 90)
                all.push_back({std::string("two-of-four-h-") + (b_along_k ? "nt-" : "nn-") +
                                   std::to_string(tile.rows) + "x" + std::to_string(tile.cols),
                               sg::cuda_source_of(sg::two_of_four_kernel<sg::half, sg::half>(
                                   tile, b_along_k, none.definitions())),
                               true});
    for (int const products : {3, 6, 9})
        for (bool const b_along_k : {false, true})
            if (capability == 90)
                all.push_back({"split-w-" + std::to_string(products) + (b_along_k ? "-nt" : "-nn"),
                               sg::cuda_source_of(sg::split_parts::warpgroup_kernel<sg::bfloat16>(
                                   products, true, b_along_k, none.definitions())),
                               true});
    for (bool const a_along_k : {false, true})
        for (bool const b_along_k : {false, true})
            if (capability == 90)
                all.push_back({std::string("split-h-3-") + (a_along_k ? 'n' : 't') + (b_along_k ? 't' : 'n'),
                               sg::cuda_source_of(sg::split_parts::warpgroup_kernel<sg::half>(
                                   3, a_along_k, b_along_k, none.definitions())),
                               true});
    add_sampled<float>(all);
    add_sampled<double>(all);
    add_sampled<sg::half>(all);
    add_sampled<std::int8_t>(all);
    if (capability == 90) {
        add_hadamard<float>(all, 6), add_hadamard<float>(all, 12), add_hadamard<float>(all, 15);
        add_hadamard<float>(all, 20);
        add_hadamard<double>(all, 14), add_hadamard<complex128>(all, 13);
        add_srht<float>(all, 13), add_srht<float>(all, 20), add_srht<complex128>(all, 11);
    }
    add_dft<complex64>(all, capability);
    add_dft<complex128>(all, capability);
    add_spectrum<float>(all, capability), add_spectrum<double>(all, capability);
    add_spectrum<complex64>(all, capability), add_spectrum<complex128>(all, capability);
    add_toeplitz<float>(all);
    if (capability == 90) add_toeplitz<double>(all);
    add_real_dft<float, complex64>(all, capability);
    add_real_dft<double, complex128>(all, capability);
    form = {};
    form.table = form.table_states = 60; // products with epilogues of their own values
    sg::cuda_blocked const shared = sg::cuda_group_tiles[0].tile;
    all.push_back(
        {"blocked-s-group-chain", sg::cuda_product_source<float, float>(shared, form, chain), true});
    return all;
}

// The engine and the element type of a tile, and for a group that it is one; and how large the tile is. 0: no tile.
int tile_of(kernel const& k, std::string& family) {
    std::smatch found;
    if (!std::regex_match(k.name, found, std::regex("([a-z0-9]+-[a-z0-9])-([0-9]+)x([0-9]+)x.*?(-group)?")))
        return 0;
    family = found[1].str() + found[4].str();
    return std::atoi(found[2].str().c_str()) * std::atoi(found[3].str().c_str());
}

// What to compile for an architecture, as above.
std::vector<kernel> checked_for(std::string const& architecture) {
    std::vector<kernel> all = kernels_for(std::atoi(architecture.c_str() + 3));
    std::set<std::string> elsewhere;
    if (architecture != "sm_75" && architecture != "sm_90a")
        for (int const capability : {75, 90})
            for (kernel const& k : kernels_for(capability)) elsewhere.insert(k.name + '\n' + k.source.text);
    std::string family;
    std::map<std::string, int> largest;
    for (kernel const& k : all)
        if (int const tile = tile_of(k, family); tile > largest[family]) largest[family] = tile;
    std::regex const other_form("-parts|-gather|-to-b|-a[km]-|-gaps");
    std::vector<kernel> some;
    for (kernel& k : all)
        if (int const tile = tile_of(k, family);
            tile == 0 ? !elsewhere.count(k.name + '\n' + k.source.text)
                      : tile == largest[family] ||
                            (architecture == "sm_90a" && !std::regex_search(k.name, other_form)))
            some.push_back(std::move(k));
    return some;
}

// What the compiler says of a kernel.
struct made_of {
    int registers = -1, spills = -1, stack = -1, serial = 0;
};
// NVRTC gives a kernel a few registers more or fewer from one run to the next. Multiprocessors allocate eight at a
// time.
bool alike(made_of const& x, made_of const& y) {
    return std::abs(x.registers - y.registers) < 8 && x.spills == y.spills && x.stack == y.stack &&
           x.serial == y.serial;
}
using record = std::map<std::string, made_of>; // by hash

// FNV-1a of what NVRTC is given, and of its version.
std::string hash_of(kernel const& k, std::string const& architecture) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (std::string const& part :
         {sg::cuda_compiler::get().version(), architecture, std::string(k.source.kernel),
          std::to_string(k.source.exact), k.source.text})
        for (char const c : part + '\0') hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

record read_record(char const* path) {
    record all;
    std::ifstream file(path);
    for (std::string name, hash; file >> name;) {
        made_of m;
        if (file >> m.registers >> m.spills >> m.stack >> m.serial >> hash) all[hash] = m;
    }
    return all;
}

int number(std::string const& log, char const* pattern) {
    std::smatch found;
    return std::regex_search(log, found, std::regex(pattern)) ? std::atoi(found[1].str().c_str()) : -1;
}

// Whether it compiles.
bool compile(kernel const& k, char const* architecture, made_of& m) {
    auto made =
        sg::cuda_compiler::get().compile(k.source.text, k.source.kernel, architecture, k.source.exact, true);
    if (!made) {
        std::printf("%s: %s\n", k.name.c_str(), made.error().what());
        return false;
    }
    // A source may have several kernels: what is said of this one.
    std::string const text = made->log.substr(
        std::min(made->log.find(std::string("Compiling entry function '") + k.source.kernel + '\''),
                 made->log.size()));
    m.registers = number(text, "Used ([0-9]+) registers");
    m.spills = number(text, "([0-9]+) bytes spill stores");
    m.stack = number(text, "([0-9]+) bytes stack");
    m.serial = text.find("wgmma.mma_async instructions are serialized") != std::string::npos;
    return true;
}

// Every `parts`-th kernel; `turn` goes on from one architecture to the next.
bool check(char const* architecture, int part, int parts, record const& known, int& turn) {
    bool good = true;
    std::printf("%-36s %9s %7s %7s %7s\n", "kernel", "registers", "spills", "stack", "serial");
    for (kernel const& k : checked_for(architecture)) {
        if (turn++ % parts != part) continue;
        std::string const hash = hash_of(k, architecture);
        made_of m;
        auto const found = known.find(hash);
        bool const is_known = found != known.end(), is_sample = hash[0] == '0' && hash[1] < '8';
        if ((!is_known || is_sample) && !compile(k, architecture, m)) {
            good = false;
            continue;
        }
        if (is_known && (!is_sample || alike(m, found->second))) {
            m = found->second; // so that the record stays as it is
        } else if (is_known) {
            std::printf("%s: NVRTC makes something else of it than tests/kernels/compiled.txt says; "
                        "build/kernels/compiled.txt is that file anew, after a check without it\n",
                        k.name.c_str());
            good = false;
        }
        std::printf("%-36s %9d %7d %7d %7d %s\n", (std::string(architecture) + '/' + k.name).c_str(),
                    m.registers, m.spills, m.stack, m.serial, hash.c_str());
        if (k.tuned && (m.registers < 0 || m.spills != 0 || m.stack != 0 || m.serial)) {
            std::printf("%s: spills, needs local memory or waits for each wgmma on %s\n", k.name.c_str(),
                        architecture);
            good = false;
        }
    }
    return good;
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 4 && std::strcmp(argv[1], "write") == 0) {
        std::filesystem::path const folder = argv[3];
        std::filesystem::create_directories(folder);
        int written = 0;
        for (kernel const& k : kernels_for(std::atoi(argv[2] + 3))) {
            std::ofstream file(folder / (k.name + ".cu"));
            file << k.source.text;
            written += file.good();
        }
        std::printf("%d sources in %s\n", written, argv[3]);
        return written == 0;
    }
    int part = 0, parts = 0;
    if (argc >= 5 && std::strcmp(argv[1], "check") == 0 &&
        std::sscanf(argv[2], "%d/%d", &part, &parts) == 2 && part >= 0 && part < parts) {
        if (std::string const& missing = sg::cuda_compiler::get().missing(); !missing.empty()) {
            std::printf("skipped: %s\n", missing.c_str());
            return 77;
        }
        record const known = read_record(argv[3]);
        bool good = true;
        int turn = 0;
        for (int i = 4; i < argc; ++i) good &= check(argv[i], part, parts, known, turn);
        return !good;
    }
    std::fprintf(stderr, "usage: cuda_kernels write ARCHITECTURE FOLDER | cuda_kernels check PART/PARTS "
                         "RECORD ARCHITECTURE...\n");
    return 2;
}
