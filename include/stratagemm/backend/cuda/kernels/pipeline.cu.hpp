// What kernels for sm_90 and later share: barriers in shared memory, tiles fetched by the tensor memory accelerator,
// which tile a block computes.
//
// An operand comes as a tensor map of rank 3: along memory, across, and from one matrix of a batch to the next. The
// hardware gives zeros outside of it, so no side has to be a multiple of anything.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_pipeline_text[] = R"cu(
struct alignas(64) tensor_map { unsigned long long opaque[16]; };

inline unsigned shared_address(void const *p) { return (unsigned)__cvta_generic_to_shared(p); }

struct barrier {
    unsigned at;
    void initialise(int arrivals) const {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
    }
    void arrive() const { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }
    /* On the barrier at the same place in another block of the cluster. */
    void arrive_at(int block) const {
        asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
                     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(at), "r"(block)
                     : "memory");
    }
    void expect(int bytes) const {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
    }
    void wait(int parity) const {
        asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                     "@!done bra AGAIN;\n}" ::"r"(at), "r"(parity)
                     : "memory");
    }
};
inline void barriers_are_ready() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

inline void fetch_map(tensor_map const &map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
inline void fetch(unsigned to, tensor_map const &map, int along, int across, int batch, barrier full) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, "
                 "%4}], [%5];" ::"r"(to), "l"(&map), "r"(along), "r"(across), "r"(batch), "r"(full.at)
                 : "memory");
}
inline void fetch_for_all(unsigned to, tensor_map const &map, int along, int across, int batch, barrier full,
                          unsigned short blocks) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to), "l"(&map), "r"(along), "r"(across), "r"(batch),
                 "r"(full.at), "h"(blocks)
                 : "memory");
}
inline int block_in_cluster() {
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
inline void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* Tiles are numbered so that GROUP rows of them are walked through together: what they read is still in the cache. */
struct place { int i, j, batch; };
inline place place_of_tile(int number, int tiles_m, int tiles_n) {
    int const tiles = tiles_m * tiles_n, batch = number / tiles, tile = number - batch * tiles;
    int const first = tile / (GROUP * tiles_n) * GROUP, rows = min(GROUP, tiles_m - first);
    int const in_group = tile - first * tiles_n;
    return {first + in_group % rows, in_group / rows, batch};
}
)cu";

STRATAGEMM_END
