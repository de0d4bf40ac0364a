// An auditor of the dynamic linker (man 7 rtld-audit): programs that open cuBLAS themselves, by dlopen or by a path of
// their own, get the functions of libstratagemm-cublas.so, which has to be preloaded beside this. What that library
// asks for itself stays as it is.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <link.h>

#define STRATAGEMM_EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

link_map* ours = nullptr;
bool has_complained = false;

bool is_file(link_map const* map, char const* stem) {
    char const* const slash = std::strrchr(map->l_name, '/');
    char const* const name = slash ? slash + 1 : map->l_name;
    return std::strncmp(name, stem, std::strlen(stem)) == 0;
}

// The tables of a library that is loaded. Its number of symbols is that of its relocations' chains: DT_HASH where it
// has one, else counted along the buckets of DT_GNU_HASH.
struct tables {
    Elf64_Sym const* symbols = nullptr;
    char const* names = nullptr;
    std::uint32_t const* hash = nullptr;

    explicit tables(link_map const* map) {
        for (Elf64_Dyn const* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
            auto const address = static_cast<std::uintptr_t>(d->d_un.d_ptr);
            if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<Elf64_Sym const*>(address);
            if (d->d_tag == DT_STRTAB) names = reinterpret_cast<char const*>(address);
            if (d->d_tag == DT_GNU_HASH) hash = reinterpret_cast<std::uint32_t const*>(address);
        }
    }
    static std::uint32_t hash_of(char const* name) {
        std::uint32_t h = 5381;
        for (; *name; ++name) h = h * 33 + static_cast<unsigned char>(*name);
        return h;
    }
    Elf64_Sym const* find(char const* name) const {
        if (!symbols || !names || !hash) return nullptr;
        std::uint32_t const buckets = hash[0], first = hash[1], words = hash[2];
        std::uint32_t const* const bucket = hash + 4 + words * 2; // the filter has words of 64 bits
        std::uint32_t const* const chain = bucket + buckets;
        std::uint32_t const wanted = hash_of(name);
        std::uint32_t i = buckets > 0 ? bucket[wanted % buckets] : 0;
        if (i < first) return nullptr;
        for (;; ++i) {
            std::uint32_t const here = chain[i - first];
            if ((here | 1) == (wanted | 1) && std::strcmp(names + symbols[i].st_name, name) == 0)
                return &symbols[i];
            if (here & 1) return nullptr; // the last of its bucket
        }
    }
};

std::uintptr_t ours_instead_of(char const* name) {
    Elf64_Sym const* const found = tables(ours).find(name);
    return found && found->st_shndx != SHN_UNDEF ? ours->l_addr + found->st_value : 0;
}

} // namespace

STRATAGEMM_EXPORT unsigned la_version(unsigned) { return LAV_CURRENT; }

STRATAGEMM_EXPORT unsigned la_objopen(link_map* map, Lmid_t space, std::uintptr_t* cookie) {
    *cookie = reinterpret_cast<std::uintptr_t>(map);
    if (space == LM_ID_BASE && is_file(map, "libstratagemm-cublas.so")) ours = map;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

STRATAGEMM_EXPORT std::uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned, std::uintptr_t* from,
                                              std::uintptr_t* to, unsigned*, char const* name) {
    std::uintptr_t const theirs = symbol->st_value;
    auto const *const user = reinterpret_cast<link_map const*>(*from), *const library =
                                                                           reinterpret_cast<link_map const*>(
                                                                               *to);
    if (!is_file(library, "libcublas") || std::strncmp(name, "cublas", 6) != 0) return theirs;
    if (!ours) {
        if (!has_complained)
            std::fputs("stratagemm-audit: preload libstratagemm-cublas.so, too (LD_PRELOAD)\n", stderr);
        has_complained = true;
        return theirs;
    }
    // cuBLAS's calls of itself are its own.
    if (user == ours || is_file(user, "libcublas")) return theirs;
    std::uintptr_t const instead = ours_instead_of(name);
    return instead != 0 ? instead : theirs;
}
