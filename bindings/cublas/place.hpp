// Where a product runs: the stream of its caller, on the device whose context is current, with workspace. Nothing here
// waits for a stream.
#pragma once

#include "beneath.hpp"
#include "call.hpp"

#include <memory>
#include <mutex>
#include <stratagemm/backend/cuda.hpp>
#include <vector>

namespace stratagemm_cublas {

// Device memory that a handle keeps for its next products: a block for each stream, which grows. A block that a graph
// has captured is for graphs of that stream alone, and stays until the handle goes.
class handle_workspace {
public:
    sg::result<sg::cuda::arena> reserve(sg::cuda const& gpu, bool captures, std::size_t bytes);
    // Streams may be gone: the caller knows that all work is done.
    void free_all();

    std::mutex in_use; // while a product is queued

private:
    struct block {
        int device;
        std::uint64_t stream; // its number, which no other stream of the process ever has
        void* at;
        std::size_t bytes;
        bool is_of_graphs;
    };
    std::vector<block> blocks_;
};
handle_workspace& workspace_of(handle h);

class place {
public:
    // Workspace of a handle, or memory of the caller's.
    place(void* stream, handle of) : handle_(of) { gpu.stream = static_cast<CUstream>(stream); }
    place(void* stream, void* given, std::size_t bytes) : given_(given), given_bytes_(bytes) {
        gpu.stream = static_cast<CUstream>(stream);
    }

    sg::cuda gpu;

    // Finds the device. False: none of which the primary context is current, or no driver.
    bool find_device();
    // Whether work on the stream goes into a graph, or cannot be queued now because of one.
    bool captures();
    // While the product is queued, nobody else gets this memory.
    sg::result<sg::cuda::arena> reserve(std::size_t bytes);

private:
    handle handle_ = nullptr;
    void* given_ = nullptr;
    std::size_t given_bytes_ = 0;
    bool is_asked_ = false, captures_ = false;
    std::unique_lock<std::mutex> lock_;
};

} // namespace stratagemm_cublas
