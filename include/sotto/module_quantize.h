/**
 * @file sotto/module_quantize.h
 * API for backend authors: quantization of model files.
 *
 * This header is stable within a minor version, like sotto/module.h, which includes it.
 */
#ifndef SOTTO_MODULE_QUANTIZE_H
#define SOTTO_MODULE_QUANTIZE_H

#include "module_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Receives a part of the new file: `count` bytes for `offset`, which is at most the number of bytes received
 * so far. Nonzero: the bytes cannot be written; the backend stops and returns SOTTO_ERROR_CANCELLED.
 */
typedef int32_t(SOTTO_CALL* sotto_quantize_write_fn)(
    void* context, uint64_t offset, const void* bytes, size_t count
);

/**
 * Charges memory that the backend is about to allocate for the whole quantization to the budget, in bytes:
 * the sum of all calls. The memory counts as free when the quantization ends. Nonzero: the budget has no
 * room; the backend allocates nothing and returns SOTTO_ERROR_BUDGET.
 */
typedef int32_t(SOTTO_CALL* sotto_quantize_reserve_fn)(void* context, uint64_t bytes);

/**
 * Describes a model file to quantize.
 *
 * @since 0.1
 */
typedef struct sotto_quantize_source {
    uint32_t                  struct_size; /**< sizeof(sotto_quantize_source). */
    uint32_t                  threads;     /**< Maximum number of threads. Never 0. */
    sotto_str                 path;        /**< The model's file. */
    sotto_str                 type;        /**< The type, such as "Q4_K_M". */
    sotto_str                 imatrix;     /**< File of an importance matrix. Empty: none. */
    sotto_quantize_write_fn   write;       /**< Receives the new file. Called by one thread at a time. */
    sotto_progress_fn         progress;    /**< Progress callback; nonzero cancels. Never NULL. */
    void*                     context;     /**< First argument of the callbacks. */
    sotto_quantize_reserve_fn reserve;     /**< Charges memory to the budget. Never NULL. */
} sotto_quantize_source;

/**
 * Quantizes a model's file. Runs on another thread than the other functions, and concurrently with them. Must
 * call `progress` at least once a second. `reason` must stay valid until the thread's next call.
 */
typedef sotto_status(SOTTO_CALL* sotto_quantize_fn)(
    void* self, const sotto_quantize_source* source, sotto_str* reason
);

#ifdef __cplusplus
}
#endif
#endif
