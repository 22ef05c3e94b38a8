// cuBLAS, opened at run time: a module without it loads, and can say what is missing. ggml's CUDA sources are
// compiled with this included first, and call what is in the table.
#pragma once

#include <cublas_v2.h>

struct SottoBlas {
    // Three that C++ has two of, and the table the exported one.
    using GemmEx = cublasStatus_t(
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
    using GemmBatchedEx = cublasStatus_t(
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
    using GemmStridedBatchedEx = cublasStatus_t(
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

    decltype(&::cublasCreate_v2) create = nullptr;
    decltype(&::cublasDestroy_v2) destroy = nullptr;
    decltype(static_cast<GemmBatchedEx*>(&::cublasGemmBatchedEx)) gemm_batched_ex = nullptr;
    decltype(static_cast<GemmEx*>(&::cublasGemmEx)) gemm_ex = nullptr;
    decltype(static_cast<GemmStridedBatchedEx*>(&::cublasGemmStridedBatchedEx)) gemm_strided_batched_ex =
        nullptr;
    decltype(&::cublasGetStatusString) get_status_string = nullptr;
    decltype(&::cublasSetMathMode) set_math_mode = nullptr;
    decltype(&::cublasSetStream_v2) set_stream = nullptr;
    decltype(&::cublasSetWorkspace_v2) set_workspace = nullptr;
    decltype(&::cublasSgemm_v2) sgemm = nullptr;
    decltype(&::cublasSgemmBatched) sgemm_batched = nullptr;
    decltype(&::cublasSgemmStridedBatched) sgemm_strided_batched = nullptr;
    decltype(&::cublasStrsmBatched) strsm_batched = nullptr;
};

extern SottoBlas sotto_blas;

#define cublasCreate_v2 sotto_blas.create
#define cublasDestroy_v2 sotto_blas.destroy
#define cublasGemmBatchedEx sotto_blas.gemm_batched_ex
#define cublasGemmEx sotto_blas.gemm_ex
#define cublasGemmStridedBatchedEx sotto_blas.gemm_strided_batched_ex
#define cublasGetStatusString sotto_blas.get_status_string
#define cublasSetMathMode sotto_blas.set_math_mode
#define cublasSetStream_v2 sotto_blas.set_stream
#define cublasSetWorkspace_v2 sotto_blas.set_workspace
#define cublasSgemm_v2 sotto_blas.sgemm
#define cublasSgemmBatched sotto_blas.sgemm_batched
#define cublasSgemmStridedBatched sotto_blas.sgemm_strided_batched
#define cublasStrsmBatched sotto_blas.strsm_batched
