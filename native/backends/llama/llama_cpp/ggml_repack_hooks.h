/* Included before repack.cpp, which calls these kernels: see matmul/matmul.hpp. */
#pragma once

#if defined SOTTO_HAS_AVX2_REPACK
#  define ggml_gemm_q4_0_8x8_q8_0 sotto_gemm_q4_0
#  define ggml_gemv_q4_0_8x8_q8_0 sotto_gemv_q4_0
#  define ggml_gemm_q4_K_8x8_q8_K sotto_gemm_q4_k
#elif defined SOTTO_HAS_VNNI_REPACK
#  define ggml_gemm_q4_0_8x8_q8_0 sotto_gemm_q4_0_avx512
#  define ggml_gemv_q4_0_8x8_q8_0 sotto_gemv_q4_0_avx512
#  define ggml_gemm_q4_K_8x8_q8_K sotto_gemm_q4_k_avx512
#endif
