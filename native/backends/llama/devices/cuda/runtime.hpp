// Limits of the GPU and of this build for ggml's CUDA backend, which may share the GPU with a renderer.
#pragma once

#include <cstddef>

// Returns the shared memory of a thread block in bytes if the calling thread's context has less than the GPU,
// as in a renderer's scheduling context (CiG); 0: the context has no such limit.
std::size_t sotto_block_memory();

// Returns the lowest compute capability that ggml's kernels were compiled for; 75 means 7.5.
int sotto_least_capability();
