// CPU kernel of GGML_OP_FLASH_ATTN_EXT.
#pragma once

#include <cstdint>

struct ggml_compute_params;
struct ggml_tensor;

namespace sotto::llama {

constexpr std::uint64_t kAttentionLanes = 8; // K and V head sizes must be a multiple of this

} // namespace sotto::llama

// Computes the result tensor `dst`. Calls ggml_compute_forward_flash_attn_ext(), which has the same
// arguments, if K or V is not f16, a head size is not a multiple of kAttentionLanes, or there are fewer
// blocks than half the threads.
extern "C" void sotto_flash_attention(const ggml_compute_params* params, ggml_tensor* dst);
