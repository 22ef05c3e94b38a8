/**
 * @file sotto/module_model.h
 * For those who write a backend: where models come from, what they are, and what they take.
 *
 * This header holds for a minor version, like sotto/module.h, which includes it.
 */
#ifndef SOTTO_MODULE_MODEL_H
#define SOTTO_MODULE_MODEL_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a model can do beyond answering one stream; any of them together. */
typedef uint32_t sotto_capabilities;
enum {
    SOTTO_CAPABILITY_BATCHABLE     = 1,  /**< One step may work for several streams. */
    SOTTO_CAPABILITY_ABORTABLE     = 2,  /**< A step asks its gate often, and ends soon when told to. */
    SOTTO_CAPABILITY_CONSTRAINABLE = 4,  /**< It holds answers to schemas, grammars and tools. */
    SOTTO_CAPABILITY_LOGPROBS      = 8,  /**< It tells log probabilities. */
    SOTTO_CAPABILITY_PARKABLE      = 16, /**< Streams can give up their places, see `stream_park`. */
    SOTTO_CAPABILITY_PREPARABLE    = 32  /**< Requests are prepared beside steps, see `prepare`. */
};

/** Hears how far an `open` got, 0 to 1. Not 0: give up, with SOTTO_ERROR_CANCELLED. */
typedef int32_t(SOTTO_CALL* sotto_progress_fn)(void* context, float progress);

/** How a model is to save memory; any of them together. What `options` ask for goes before. */
typedef uint32_t sotto_source_flags;
enum {
    SOTTO_SOURCE_OWN_MEMORY = 1, /**< Weights are read into memory of our own, which counts, not mapped. */
    SOTTO_SOURCE_SMALL_KV   = 2  /**< What streams remember is kept in fewer bits. */
};

/**
 * Where a model is, and how it is wanted.
 *
 * @since 0.1
 */
typedef struct sotto_model_source {
    uint32_t                 struct_size; /**< sizeof(sotto_model_source). */
    sotto_source_flags       flags;       /**< How to save memory. */
    sotto_str                path;        /**< The file. */
    sotto_str                options;     /**< A JSON object, or empty. */
    sotto_str                device;      /**< As in sotto_engine_desc. */
    const sotto_file_access* files;       /**< How to read files. NULL: the file system. */
    sotto_progress_fn        progress;    /**< Hears how far it got. Never NULL in `open`. */
    void*                    context;     /**< First argument of the function above. */
    uint32_t                 streams;     /**< Most places to begin with. 0: no matter. */
    uint32_t                 tokens;   /**< Most tokens each, where `options` name no number. 0: no matter. */
    uint32_t                 layers;   /**< Most layers on the device, likewise. 0: no matter. */
    uint32_t                 reserved; /**< Must be 0. */
} sotto_model_source;

/** What of a model's memory the engine may change while it is open, or by opening it again. */
typedef uint32_t sotto_model_gives;
enum {
    SOTTO_GIVES_PLACES  = 1, /**< `resize` is there: places can be given back, and had again. */
    SOTTO_GIVES_STREAMS = 2, /**< `options` name no number of streams: fewer will do. */
    SOTTO_GIVES_TOKENS = 4, /**< `options` name no length of streams, or a least one: shorter ones will do. */
    SOTTO_GIVES_KV     = 8, /**< SOTTO_SOURCE_SMALL_KV would make what streams remember smaller. */
    SOTTO_GIVES_LAYERS = 16 /**< `options` name no number of layers on the device: fewer will do. */
};

/**
 * What a model is, and takes. Filled by the backend.
 *
 * @since 0.1
 */
typedef struct sotto_model_info {
    uint32_t           struct_size;  /**< In: sizeof(sotto_model_info). */
    sotto_capabilities capabilities; /**< What it can do. */
    uint32_t           streams;      /**< How many may be open at once, at least 1; parked ones aside. */
    uint32_t           context;      /**< Tokens that one stream can hold. 0: no limit. */
    uint32_t           step_tokens;  /**< Most prompt tokens worth giving one step. 0: no matter. */
    uint32_t           step_least;   /**< Fewest prompt tokens worth giving one. 0: no matter. */
    uint64_t           weights;      /**< Bytes, of the device's memory where it is on one. */
    uint64_t           kv;           /**< Likewise, for all streams together. */
    uint64_t           compute;      /**< Likewise. */
    sotto_str          description;  /**< JSON object for people: architecture, size, ... Or empty. */
    /**
     * JSON object that says what a saved state fits: the model's weights, the library, the form of
     * its memory. A state is restored where it is the same to the byte. Empty: none can be saved.
     */
    sotto_str         fingerprint;
    sotto_model_gives gives;        /**< What of that may be made smaller. */
    uint32_t          stream_least; /**< Fewest tokens that a stream of use holds. 0: no matter. */
    uint64_t          host;         /**< Bytes of the machine's memory, beside those of its device. */
    uint32_t          layers;       /**< How many of its layers are on the device. */
    uint32_t          reserved;     /**< Must be 0. */
} sotto_model_info;

#ifdef __cplusplus
}
#endif
#endif
