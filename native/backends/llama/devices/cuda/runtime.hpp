// What differs for a model that shares a card with a renderer, under ggml's calls of CUDA's runtime.
#pragma once

#include <cstddef>

// Bytes of memory that a kernel's block may have in the calling thread's context, where that is less than the
// card has, as in a renderer's scheduling context (CiG); 0: all.
std::size_t sotto_block_memory();

// The least compute capability that ggml's kernels were compiled for, as 75 for 7.5.
int sotto_least_capability();
