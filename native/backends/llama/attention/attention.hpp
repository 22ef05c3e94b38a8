// The kernel of GGML_OP_FLASH_ATTN_EXT on a processor.
#pragma once

#include <cstdint>

struct ggml_compute_params;
struct ggml_tensor;

namespace sotto::llama {

constexpr std::uint64_t kAttentionLanes = 8; // numbers; a head of keys or values is a multiple of so many

} // namespace sotto::llama

// Computes `dst`, with the arguments of ggml_compute_forward_flash_attn_ext(), which it calls for what it
// does not do itself: keys and values other than f16, and far fewer heads than threads.
extern "C" void sotto_flash_attention(const ggml_compute_params* params, ggml_tensor* dst);
