// Chooses between ggml's kernels and those of this folder, in the functions that ggml calls for
// GGML_OP_MUL_MAT.
#include "matmul.hpp"

#include <algorithm>

#include <ggml-cpu/ggml-cpu-impl.h>
#include <ggml-cpu/llamafile/sgemm.h>
#include <ggml-cpu/quants.h>
#include <ggml-cpu/repack.h>
#include <ggml-cpu/tiled/tiled.h>

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
) {
    constexpr std::int64_t kFewestRows = 3;    // with fewer rows, ggml's kernel is as fast
    constexpr std::int64_t kLargestPiece = 64; // columns of a piece, few enough for the L2 cache
    // pieces per thread: other threads take over the pieces of a stalled thread
    constexpr std::int64_t kPieces = 4;
    const bool of_ours = weights_type == GGML_TYPE_Q6_K && activations_type == GGML_TYPE_Q8_K;
    if (!of_ours || rows < kFewestRows || params->use_ref) {
        return llamafile_sgemm(
            params,
            columns,
            rows,
            blocks,
            weights,
            weights_apart,
            activations,
            activations_apart,
            to,
            apart,
            weights_type,
            activations_type,
            type
        );
    }
    if (params->ith == 0) {
        ggml_threadpool_chunk_set(params->threadpool, params->nth);
    }
    ggml_barrier(params->threadpool);
    const auto piece = std::clamp<std::int64_t>(columns / (kPieces * params->nth), 1, kLargestPiece);
    const auto pieces = (columns + piece - 1) / piece;
    for (std::int64_t i = params->ith; i < pieces; i = ggml_threadpool_chunk_add(params->threadpool, 1)) {
        const auto first = i * piece;
        sotto_multiply_q6_k(
            static_cast<const block_q6_K*>(weights) + first * weights_apart,
            weights_apart,
            activations,
            activations_apart,
            static_cast<float*>(to) + first,
            apart,
            static_cast<int>(blocks),
            static_cast<int>(rows),
            static_cast<int>(std::min(piece, columns - first))
        );
    }
    ggml_barrier(params->threadpool); // waits for all threads before the shared counter is reset
    return true;
}

bool sotto_mul_mat_tiled(const ggml_compute_params* params, ggml_tensor* to) {
    // with more rows, ggml's kernel is faster: it unpacks weights into a buffer
    constexpr std::int64_t kMaxRows = 32;
#ifdef SOTTO_HAS_BF16_MATMUL
    if (sotto_multiply_bf16(params, to)) {
        return true;
    }
#endif
    if (to->src[0]->type == GGML_TYPE_Q6_K && to->src[1]->ne[1] <= kMaxRows) {
        return false;
    }
    return ggml_compute_forward_mul_mat_tiled(params, to);
}

#ifdef SOTTO_HAS_VNNI_REPACK

namespace {

bool has_vnni() {
    static const bool has = [] {
        unsigned a = 7, b = 0, c = 0, d = 0;                   // leaf 7, which every CPU with AVX-512 has
        __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d)); // <cpuid.h> clashes with headers of Windows
        return (c & 1U << 11) != 0;
    }();
    return has;
}

} // namespace

void sotto_gemm_q4_0_avx512(
    int depth,
    float* to,
    std::size_t apart,
    const void* weights,
    const void* activations,
    int rows,
    int columns
) {
    const auto multiply = has_vnni() ? sotto_gemm_q4_0_vnni : ggml_gemm_q4_0_8x8_q8_0;
    multiply(depth, to, apart, weights, activations, rows, columns);
}

void sotto_gemv_q4_0_avx512(
    int depth,
    float* to,
    std::size_t apart,
    const void* weights,
    const void* activations,
    int rows,
    int columns
) {
    const auto multiply = has_vnni() ? sotto_gemv_q4_0_vnni : ggml_gemv_q4_0_8x8_q8_0;
    multiply(depth, to, apart, weights, activations, rows, columns);
}

void sotto_gemm_q4_k_avx512(
    int depth,
    float* to,
    std::size_t apart,
    const void* weights,
    const void* activations,
    int rows,
    int columns
) {
    const auto multiply = has_vnni() ? sotto_gemm_q4_k_vnni : ggml_gemm_q4_K_8x8_q8_K;
    multiply(depth, to, apart, weights, activations, rows, columns);
}

#endif
