// Products of matrices in files, of which none has to fit into memory.
//
//   sg::file_matrix<float> const a("a.npy"), b("b.npy");
//   auto c = sg::file_matrix<float>::create_npy("c.npy", a.rows(), b.cols());
//   sg::gemm(sg::out_of_core{sg::host{}, {.host_bytes = 1_GiB}}, a, b, c);
//   sg::gemm(sg::out_of_core{sg::out_of_core{gpu}, {.host_bytes = 8_GiB}}, a, b, c);   from files to the device
//
// A and B are read in blocks, and finished blocks of C are written at once, while products go on. With a
// journal, a product, or a batch, whose process ended is resumed by the same call (journal.hpp).
#pragma once

#include "../../backend/file.hpp"
#include "../out_of_core.hpp"
#include "journal.hpp"

STRATAGEMM_BEGIN

// Where operands of a policy on the host come from, when they are not there.
template <>
struct memory_beyond<host_memory> {
    using space = file_memory;
    using leaf = file_operations;
    using journal = file_journal;
};

// Operands that are in memory need no layer to bring them there.
template <>
struct refuse_space<file_memory, host_memory> {
    template <class There = file_memory>
    static constexpr bool say() {
        static_assert(
            std::is_same_v<There, host_memory>,
            "stratagemm: these operands are in memory already, and out_of_core over a policy of the host "
            "takes matrices in files: call the policy beneath it");
        return false;
    }
};

STRATAGEMM_END
