// CUDA runtime behaviour that differs for a model that shares a GPU with a renderer; used below ggml's calls.
#pragma once

#include <cstddef>

// Shared memory in bytes of a thread block in the calling thread's context, if that is less than the GPU has,
// as in a renderer's scheduling context (CiG); 0: no reduction.
std::size_t sotto_block_memory();

// Lowest compute capability that ggml's kernels were compiled for, as 75 for 7.5.
int sotto_least_capability();
