// Writes the final source of every built-in tile of a device family, for compilers and other tools:
//   write_kernels FAMILY FOLDER
// Files are named by family, type of sums, tile and form: rows means that A and B are row-major, turned that A is
// transposed. For gfx803 there are some design points beside the built-in tiles, to compare them with.
#include <stratagemm/backend/opencl.hpp>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace sg = stratagemm;

namespace {

constexpr struct {
    char const* name;
    sg::opencl_family family;
} families[] = {{"gfx803", sg::opencl_family::gfx803}, {"gcn", sg::opencl_family::gcn},
                {"rdna", sg::opencl_family::rdna},     {"intel", sg::opencl_family::intel},
                {"nvidia", sg::opencl_family::nvidia}, {"cpu", sg::opencl_family::cpu}};

// float4 in blocks of 2 x 2, with one buffer or two of local memory, of 4 and of 8 KiB.
constexpr struct {
    char const* name;
    sg::opencl_tile tile;
} design_points[] = {{"blocks2x2-single-4K", {8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 1, 0, 8}},
                     {"blocks2x2-double-8K", {8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 2, 0, 8}},
                     {"blocks2x2-single-8K", {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 1, 0, 8}},
                     {"blocks2x1-double-8K", {16, 16, 8, 4, 4, 4, 4, 4, 2, 1, 2, 0, 8}}};

template <class T>
int write(std::filesystem::path const& folder, std::string const& name, sg::opencl_tile const& tile) {
    sg::opencl_epilogue<T> const none{sg::identity{}};
    int written = 0;
    for (bool const rows : {true, false}) {
        sg::opencl_form form;
        form.a_along_k = rows, form.aligned = true;
        if (!sg::is_legal(tile, form)) continue;
        std::ofstream file(folder / (name + (rows ? "-rows.cl" : "-turned.cl")));
        file << sg::opencl_source_of<T, T>("tiled", sg::opencl_tiled_text, none, sg::definitions(tile, form))
                    .text;
        written += file.good();
    }
    return written;
}

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

int write_entry(std::filesystem::path const& folder, std::string const& name, char sums,
                sg::opencl_tile const& tile) {
    switch (sums) {
    case 's': return write<float>(folder, name, tile);
    case 'd': return write<double>(folder, name, tile);
    case 'c': return write<complex64>(folder, name, tile);
    default: return write<complex128>(folder, name, tile);
    }
}

} // namespace

int main(int argc, char** argv) {
    for (auto const& family : families) {
        if (argc != 3 || std::strcmp(argv[1], family.name) != 0) continue;
        std::filesystem::path const folder = argv[2];
        std::filesystem::create_directories(folder);
        int written = 0;
        for (sg::opencl_entry const& e : sg::opencl_entries) {
            if (e.family != family.family) continue;
            auto const& t = e.tile;
            std::string const name = std::string(family.name) + '-' + e.sums + '-' +
                                     std::to_string(t.tile_m()) + 'x' + std::to_string(t.tile_n()) + 'x' +
                                     std::to_string(t.depth) +
                                     (t.slices > 1 ? "-slices" + std::to_string(t.slices) : "");
            written += write_entry(folder, name, e.sums, t);
        }
        if (family.family == sg::opencl_family::gfx803)
            for (auto const& point : design_points)
                written += write<float>(folder, std::string("gfx803-point-") + point.name, point.tile);
        std::printf("%d sources in %s\n", written, argv[2]);
        return written == 0;
    }
    std::fprintf(stderr, "usage: write_kernels gfx803|gcn|rdna|intel|nvidia|cpu FOLDER\n");
    return 2;
}
