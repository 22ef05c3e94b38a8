// CPU kernels of GGML_OP_MUL_MAT: for Q4_0, Q4_K and Q6_K weights on AVX2, for Q4_0 and Q4_K on AVX-512 with
// VNNI, and in bfloat16 on AVX-512.
//
// The hooks in llama_cpp/ replace ggml's kernels with these. For 32 products of Q4_0 or Q4_K, ggml's kernels
// execute five instructions and shuffle the activations again for each group of eight columns; the kernels
// here execute 2.5 instructions and load activations by broadcast, which is twice as fast on a Zen 3. With
// AVX-512 without VNNI, ggml's kernels are used for Q4_0 and Q4_K. For Q6_K, ggml's kernel unpacks a
// column for each row, and the kernel here unpacks a column once for 16 rows.
#pragma once

#include <cstddef>
#include <cstdint>

struct ggml_compute_params;
struct ggml_tensor;

namespace sotto::llama {
// Flag of a tensor of F16 or BF16 weights, beside ggml's: its products are computed in bfloat16. That has 8
// significant bits, where F16 has 11: enough for the vectors of an encoder (cosine to those in F32: 0.99998),
// and twice as fast as F32. Set only if the CPU has AVX512_BF16.
constexpr int kBf16Weights = 1 << 24;
// Flag beside kBf16Weights, for BF16 weights: their products are computed with AMX. Set only if the CPU has
// AMX-BF16 and the system lets this process use it.
constexpr int kTileWeights = 1 << 25;
} // namespace sotto::llama

extern "C" {

// Computes to[row * apart + column], the sum over `depth` of activations * weights.
using sotto_matmul_kernel = void(
    int depth,
    float* to,
    std::size_t apart,
    const void* weights,
    const void* activations,
    int rows,
    int columns
);

// Weights: block_q4_0x8, `depth` / 32 blocks for each group of eight columns, which are interleaved by eight
// bytes. Activations: block_q8_0x4, groups of four rows, interleaved in the same way. depth: a multiple of
// 32; rows: a multiple of 4; columns: a multiple of 8. The kernels need AVX2, or AVX-512 with VNNI; that for
// any CPU with AVX-512 calls ggml's if there is no VNNI.
sotto_matmul_kernel sotto_gemm_q4_0, sotto_gemm_q4_0_vnni, sotto_gemm_q4_0_avx512;

// Like sotto_gemm_q4_0, for one row; activations: block_q8_0. Ignore `apart` and `rows`.
sotto_matmul_kernel sotto_gemv_q4_0, sotto_gemv_q4_0_vnni, sotto_gemv_q4_0_avx512;

// Like sotto_gemm_q4_0; weights: block_q4_Kx8; activations: block_q8_Kx4; depth: a multiple of 256.
sotto_matmul_kernel sotto_gemm_q4_k, sotto_gemm_q4_k_vnni, sotto_gemm_q4_k_avx512;

// Computes to[row * apart + column]; weights: block_q6_K; activations: block_q8_K. The strides between
// columns and between rows are in superblocks.
void sotto_multiply_q6_k(
    const void* weights,
    std::int64_t weights_apart,
    const void* activations,
    std::int64_t activations_apart,
    float* to,
    std::int64_t apart,
    int superblocks,
    int rows,
    int columns
);

// Multiplies matrices. Same arguments and result as llamafile_sgemm(), which sotto_sgemm() calls unless the
// weights are Q6_K and there are several rows.
bool sotto_sgemm(
    const ggml_compute_params* params,
    std::int64_t columns,
    std::int64_t rows,
    std::int64_t blocks,
    const void* weights,
    std::int64_t weights_apart,
    const void* activations,
    std::int64_t activations_apart,
    void* to,
    std::int64_t apart,
    int weights_type,
    int activations_type,
    int type
);

// Multiplies matrices if the weights have the flag kBf16Weights and the CPU has AVX512_BF16. Otherwise
// returns false.
bool sotto_multiply_bf16(const ggml_compute_params* params, ggml_tensor* to);

// Same arguments and result as ggml_compute_forward_mul_mat_tiled(). Calls sotto_multiply_bf16() where the
// tier has it. Returns false for Q6_K weights and few rows, so that ggml calls sotto_sgemm(); otherwise calls
// ggml's function.
bool sotto_mul_mat_tiled(const ggml_compute_params* params, ggml_tensor* to);
}
