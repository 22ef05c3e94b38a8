/**
 * @file sotto/module_model.h
 * API for backend authors: model sources, model properties, and memory sizes.
 *
 * This header is stable within a minor version, like sotto/module.h, which includes it.
 */
#ifndef SOTTO_MODULE_MODEL_H
#define SOTTO_MODULE_MODEL_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Optional features of a model, as bit flags. */
typedef uint32_t sotto_capabilities;
enum {
    SOTTO_CAPABILITY_BATCHABLE = 1, /**< One step may process several streams. */
    /**
     * A step calls its gate often, ends soon after cancellation, and can be repeated then. A step of any
     * other model is cancelled only if no request needs its streams any longer, and always runs in the
     * normal scheduling class: in the idle class it could hold its locks as long as no core is free.
     */
    SOTTO_CAPABILITY_ABORTABLE     = 2,
    SOTTO_CAPABILITY_CONSTRAINABLE = 4,  /**< Constrains answers to schemas, grammars and tools. */
    SOTTO_CAPABILITY_LOGPROBS      = 8,  /**< Returns log probabilities. */
    SOTTO_CAPABILITY_PARKABLE      = 16, /**< Streams can give up their slots, see `stream_park`. */
    SOTTO_CAPABILITY_PREPARABLE    = 32, /**< Requests are prepared in parallel to steps, see `prepare`. */
    SOTTO_CAPABILITY_TOKENS        = 64  /**< Reports the id of each token, see sotto_step_item.token. */
};

/**
 * Operations that a model performs, as bit flags: bit n is the sotto_op of value n. A request for any other
 * operation fails at once, with SOTTO_ERROR_UNSUPPORTED and the names of those that the model performs.
 *
 * EMBED, TRANSCRIBE, TRANSLATE, RERANK, IMAGE_GENERATE and IMAGE_MATTE are operations with data. A stream of
 * one works in units of the backend's choice, such as texts, seconds of sound or denoise steps, reported like
 * prompt tokens: `prompt_tokens` of them at first, `evaluated` by a step, `remaining` after it. A step may
 * also generate text, delivered at once, and data. The step that ends the stream sets `finish` and `result`.
 * Of the image operations, each step that completes units sends SOTTO_EVENT_PROGRESS.
 */
typedef uint32_t sotto_operations;
enum {
    SOTTO_OPERATION_CHAT           = 2,
    SOTTO_OPERATION_COMPLETION     = 4,
    SOTTO_OPERATION_INFILL         = 8,
    SOTTO_OPERATION_TOKENIZE       = 16,
    SOTTO_OPERATION_DETOKENIZE     = 32,
    SOTTO_OPERATION_APPLY_TEMPLATE = 64,
    SOTTO_OPERATION_SAVE_STATE     = 128,
    SOTTO_OPERATION_RESTORE_STATE  = 256,
    SOTTO_OPERATION_EMBED          = 8192,
    SOTTO_OPERATION_TRANSCRIBE     = 16384,
    SOTTO_OPERATION_TRANSLATE      = 32768,
    SOTTO_OPERATION_RERANK         = 65536,
    SOTTO_OPERATION_SLOTS          = 2097152,
    SOTTO_OPERATION_IMAGE_GENERATE = 16777216,
    SOTTO_OPERATION_IMAGE_MATTE    = 33554432
};

/** Receives the progress of `open`, 0 to 1. Nonzero: `open` stops and returns SOTTO_ERROR_CANCELLED. */
typedef int32_t(SOTTO_CALL* sotto_progress_fn)(void* context, float progress);

/** Memory-saving measures for opening a model, as bit flags. The model's load options take precedence. */
typedef uint32_t sotto_source_flags;
enum {
    /** Reads weights into heap memory, charged to the budget, instead of mapping the file. */
    SOTTO_SOURCE_OWN_MEMORY = 1,
    /** Stores the KV cache with fewer bits per value. */
    SOTTO_SOURCE_SMALL_KV = 2
};

/**
 * Location of a model, and the limits to open it with.
 *
 * @since 0.1
 */
typedef struct sotto_model_source {
    uint32_t                 struct_size; /**< sizeof(sotto_model_source). */
    sotto_source_flags       flags;       /**< Memory-saving measures. */
    sotto_str                path;        /**< Path of the model file. */
    sotto_str                options;     /**< JSON object, or empty. */
    sotto_str                device;      /**< Device name, as in sotto_engine_desc. */
    const sotto_file_access* files;       /**< File access functions. NULL: the file system. */
    sotto_progress_fn        progress;    /**< Progress callback. Never NULL in `open`. */
    void*                    context;     /**< First argument of `progress`. */
    uint32_t                 streams;     /**< Maximum initial slots. 0: no limit. */
    /** Maximum tokens per stream; applies where `options` set no number. 0: no limit. */
    uint32_t tokens;
    /** Maximum layers on the device; applies where `options` set no number. 0: no limit. */
    uint32_t layers;
    uint32_t reserved; /**< Must be 0. */
} sotto_model_source;

/** Parts of a model's memory that the engine may shrink, in place or by reopening it, as bit flags. */
typedef uint32_t sotto_model_shrinkable;
enum {
    /** Slots can be freed and allocated again: `resize` is implemented. */
    SOTTO_SHRINKABLE_PLACES = 1,
    /** The number of streams can be reduced: `options` set none. */
    SOTTO_SHRINKABLE_STREAMS = 2,
    /** The context of each stream can be reduced: `options` set no length, or also set a minimum. */
    SOTTO_SHRINKABLE_TOKENS = 4,
    /** The KV cache can be reduced: SOTTO_SOURCE_SMALL_KV would make it smaller. */
    SOTTO_SHRINKABLE_KV = 8,
    /** The number of layers on the device can be reduced: `options` set none. */
    SOTTO_SHRINKABLE_LAYERS = 16
};

/**
 * Properties and memory sizes of a model. Filled by the backend.
 *
 * @since 0.1
 */
typedef struct sotto_model_info {
    uint32_t           struct_size;  /**< In: sizeof(sotto_model_info). */
    sotto_capabilities capabilities; /**< Features of the model. */
    uint32_t           streams;      /**< Slots: maximum open streams, at least 1, parked streams excluded. */
    uint32_t           context;      /**< Maximum tokens per stream; longer prompts fail. 0: no limit. */
    uint32_t           step_tokens;  /**< Maximum useful prefill tokens per step. 0: no limit. */
    uint32_t           min_step_tokens; /**< Minimum useful prefill tokens per step. 0: no minimum. */
    uint64_t           weights;         /**< Bytes of weights; device memory if the model is on a device. */
    uint64_t           kv;              /**< Bytes of KV cache of all streams, in the same memory. */
    uint64_t           compute;         /**< Bytes of compute buffers, in the same memory. */
    sotto_str          description;     /**< JSON object for display: architecture, size, ... Or empty. */
    /**
     * JSON object that identifies compatible saved states: the model's weights, the library, the KV cache
     * format. A state is restored only if its fingerprint is identical byte for byte. Empty: saving is
     * unsupported.
     */
    sotto_str              fingerprint;
    sotto_model_shrinkable shrinkable;        /**< Parts of this memory that can be reduced. */
    uint32_t               min_stream_tokens; /**< Minimum useful tokens per stream. 0: no minimum. */
    uint64_t               host;              /**< Bytes of host memory, in addition to device memory. */
    uint32_t               layers;            /**< Number of layers on the device. */
    sotto_operations       operations;        /**< 0: all but those with data that the backend has. */
} sotto_model_info;

/**
 * Location of an adapter for an open model.
 *
 * @since 0.1
 */
typedef struct sotto_adapter_source {
    uint32_t                 struct_size; /**< sizeof(sotto_adapter_source). */
    uint32_t                 reserved;    /**< Must be 0. */
    sotto_str                path;        /**< Path of the adapter file. */
    const sotto_file_access* files;       /**< File access functions. NULL: the file system. */
} sotto_adapter_source;

/**
 * Memory size of an adapter. Filled by the backend.
 *
 * @since 0.1
 */
typedef struct sotto_adapter_info {
    uint32_t struct_size; /**< In: sizeof(sotto_adapter_info). */
    uint32_t reserved;    /**< Must be 0. */
    /** Bytes that the adapter adds to the model, compute buffers included, in the memory of the weights. */
    uint64_t bytes;
} sotto_adapter_info;

#ifdef __cplusplus
}
#endif
#endif
