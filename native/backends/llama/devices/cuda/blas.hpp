// cuBLAS, loaded at run time: without cuBLAS the module still loads and can report what is missing. ggml's
// CUDA sources are compiled with this header included first, and call cuBLAS through the pointers in
// sotto_blas.
#pragma once

#include <cublas_v2.h>

// Types of three exported cuBLAS functions, for which cublas_v2.h also has C++ overloads.
using SottoGemmEx = cublasStatus_t(
    cublasHandle_t,
    cublasOperation_t,
    cublasOperation_t,
    int,
    int,
    int,
    const void*,
    const void*,
    cudaDataType,
    int,
    const void*,
    cudaDataType,
    int,
    const void*,
    void*,
    cudaDataType,
    int,
    cublasComputeType_t,
    cublasGemmAlgo_t
);
using SottoGemmBatchedEx = cublasStatus_t(
    cublasHandle_t,
    cublasOperation_t,
    cublasOperation_t,
    int,
    int,
    int,
    const void*,
    const void* const*,
    cudaDataType,
    int,
    const void* const*,
    cudaDataType,
    int,
    const void*,
    void* const*,
    cudaDataType,
    int,
    int,
    cublasComputeType_t,
    cublasGemmAlgo_t
);
using SottoGemmStridedBatchedEx = cublasStatus_t(
    cublasHandle_t,
    cublasOperation_t,
    cublasOperation_t,
    int,
    int,
    int,
    const void*,
    const void*,
    cudaDataType,
    int,
    long long,
    const void*,
    cudaDataType,
    int,
    long long,
    const void*,
    void*,
    cudaDataType,
    int,
    long long,
    int,
    cublasComputeType_t,
    cublasGemmAlgo_t
);

// All cuBLAS functions that ggml calls, with their types.
#define SOTTO_BLAS(X)                                                                                        \
    X(cublasCreate_v2, decltype(&::cublasCreate_v2))                                                         \
    X(cublasDestroy_v2, decltype(&::cublasDestroy_v2))                                                       \
    X(cublasGemmBatchedEx, SottoGemmBatchedEx*)                                                              \
    X(cublasGemmEx, SottoGemmEx*)                                                                            \
    X(cublasGemmStridedBatchedEx, SottoGemmStridedBatchedEx*)                                                \
    X(cublasGetStatusString, decltype(&::cublasGetStatusString))                                             \
    X(cublasSetMathMode, decltype(&::cublasSetMathMode))                                                     \
    X(cublasSetStream_v2, decltype(&::cublasSetStream_v2))                                                   \
    X(cublasSetWorkspace_v2, decltype(&::cublasSetWorkspace_v2))                                             \
    X(cublasSgemm_v2, decltype(&::cublasSgemm_v2))                                                           \
    X(cublasSgemmBatched, decltype(&::cublasSgemmBatched))                                                   \
    X(cublasSgemmStridedBatched, decltype(&::cublasSgemmStridedBatched))                                     \
    X(cublasStrsmBatched, decltype(&::cublasStrsmBatched))

struct SottoBlas {
#define SOTTO_DECLARE(name, type) type name = nullptr;
    SOTTO_BLAS(SOTTO_DECLARE)
#undef SOTTO_DECLARE
};

extern SottoBlas sotto_blas;

#define cublasCreate_v2 sotto_blas.cublasCreate_v2
#define cublasDestroy_v2 sotto_blas.cublasDestroy_v2
#define cublasGemmBatchedEx sotto_blas.cublasGemmBatchedEx
#define cublasGemmEx sotto_blas.cublasGemmEx
#define cublasGemmStridedBatchedEx sotto_blas.cublasGemmStridedBatchedEx
#define cublasGetStatusString sotto_blas.cublasGetStatusString
#define cublasSetMathMode sotto_blas.cublasSetMathMode
#define cublasSetStream_v2 sotto_blas.cublasSetStream_v2
#define cublasSetWorkspace_v2 sotto_blas.cublasSetWorkspace_v2
#define cublasSgemm_v2 sotto_blas.cublasSgemm_v2
#define cublasSgemmBatched sotto_blas.cublasSgemmBatched
#define cublasSgemmStridedBatched sotto_blas.cublasSgemmStridedBatched
#define cublasStrsmBatched sotto_blas.cublasStrsmBatched
