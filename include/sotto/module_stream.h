/**
 * @file sotto/module_stream.h
 * API for backend authors: streams, and the steps that compute them.
 *
 * This header is stable within a minor version, like sotto/module.h, which includes it.
 */
#ifndef SOTTO_MODULE_STREAM_H
#define SOTTO_MODULE_STREAM_H

#include "event.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Gate: called by the backend between parts of a step. May block. Nonzero: the backend ends the step and
 * returns SOTTO_ERROR_CANCELLED.
 */
typedef int32_t(SOTTO_CALL* sotto_gate_fn)(void* context);

/** Stream modes, as bit flags. */
typedef uint32_t sotto_stream_flags;
enum {
    /** The answer depends on its request alone: the backend reuses no KV cache of earlier streams. */
    SOTTO_STREAM_ALONE = 1
};

/**
 * Input of a stream.
 *
 * @since 0.1
 */
typedef struct sotto_stream_desc {
    uint32_t struct_size; /**< sizeof(sotto_stream_desc). */
    sotto_op op;          /**< Requested operation. */
    /** Request JSON. The engine has validated the types and ranges of the fields that Sotto defines. */
    sotto_str          body;
    uint32_t           index; /**< Index of the choice within the request, from 0. */
    sotto_stream_flags flags; /**< Stream modes. */
    /**
     * Output of `prepare` for this request, or NULL. `stream_open` takes ownership of it, also on
     * failure.
     */
    void* prepared;
    /**
     * Adapters of the stream, each at most once, or NULL. NULL in `prepare`. None of them is closed before
     * the stream has ended.
     */
    void* const* adapters;
    const float* scales;   /**< Scale of each adapter, finite, not 0; NULL if `adapters` is. */
    uint32_t     count;    /**< Number of adapters. */
    uint32_t     reserved; /**< Must be 0. */
} sotto_stream_desc;

/**
 * Result of opening or preparing a stream. Filled by the backend in `stream_open` and `prepare`.
 *
 * @since 0.1
 */
typedef struct sotto_stream_info {
    uint32_t  struct_size;   /**< In: sizeof(sotto_stream_info). */
    uint32_t  prompt_tokens; /**< Number of tokens in the whole prompt. */
    uint32_t  cached_tokens; /**< Prompt tokens that need no prefill: the KV cache holds them. */
    uint32_t  dropped;       /**< Messages left out of the prompt so that it fits the context. */
    sotto_str stops;         /**< JSON array of the model's stop strings, or empty. */
    /**
     * Response JSON of an operation that needs no step; no stream is opened then. Valid until the next
     * call for the same model.
     */
    sotto_str result;
    int32_t   parsed; /**< Nonzero: generated text goes through `stream_parse`. */
    uint32_t  slot;   /**< Number of the slot that the stream got, plus 1. 0: not reported. */
    /** With `return_settings` in the request: the values in effect, a JSON object. Or empty. */
    sotto_str settings;
    int32_t   truncated; /**< Nonzero: a part of the prompt was left out so that it fits the context. */
    uint32_t  reserved;  /**< Must be 0. */
} sotto_stream_info;

/**
 * Work of one stream in a step.
 *
 * @since 0.1
 */
typedef struct sotto_step_item {
    uint32_t struct_size; /**< sizeof(sotto_step_item). */
    uint32_t tokens;      /**< In: maximum prompt tokens to prefill. */
    void*    stream;      /**< In: the stream. */
    /** Out: text of the token. Valid until the stream's next step, or until the stream is closed. */
    sotto_str text;
    uint32_t  evaluated; /**< Out: prompt tokens prefilled. */
    /** Out: prompt tokens left to prefill. 0: this step or the next one generates a token. */
    uint32_t remaining;
    uint32_t generated; /**< Out: tokens generated, 0 or 1. An end token does not count. */
    /**
     * Out: SOTTO_FINISH_NONE, _STOP (end token), _LENGTH (context full) or _CONTENT_FILTER (the backend
     * withholds the rest of the answer).
     */
    sotto_finish finish;
    sotto_status status; /**< Out: below 0 if this stream failed. Other streams continue. */
    /**
     * In: 1. Out: answer tokens that the step decoded for the stream, draft tokens included, at most
     * 65,536. 0: an earlier step had decoded the token.
     */
    uint32_t  decoded;
    sotto_str reason; /**< Out: reason of the failure. */
    /** Out: log probabilities of the token, if requested: a JSON object as in OpenAI's `logprobs.content`. */
    sotto_str logprobs;
    /**
     * Out, in operations with data: the next part of the result, delivered as SOTTO_EVENT_DATA, and a JSON
     * object that describes it, or empty. At most one part per step.
     */
    sotto_str data;
    sotto_str data_info;
    sotto_str result; /**< Out, in operations with data, with `finish`: the response, a JSON object. */
    uint32_t  token;  /**< Out: id of the token that `text` belongs to, plus 1. 0: not reported. */
    uint32_t  slot;   /**< Out: number of the stream's slot, plus 1. 0: not reported. */
    /** Out: nonzero: the context is full, so the stream dropped earlier tokens or ends with the token. */
    int32_t truncated;
    /**
     * Out: the stream waits for something outside of the engine, such as a server, and this step evaluated
     * and generated nothing for it. The engine steps the stream again after this many milliseconds, at most
     * 1,000, or when the backend calls sotto_backend_host.wake. 0: the stream does not wait.
     */
    uint32_t wait_ms;
    /** Out, with `finish`: tokens of the prompt, if they were unknown before. 0: as stated on opening. */
    uint32_t prompt_tokens;
    uint32_t cached_tokens;     /**< Out, with `prompt_tokens`: those of them that needed no prefill. */
    uint32_t completion_tokens; /**< Out, with `finish`: tokens of the answer. 0: the steps that set
                                   `generated`. */
    uint32_t reserved;          /**< Must be 0. */
} sotto_step_item;

/** Scheduling class of a thread. */
typedef int32_t sotto_thread_class;
enum {
    SOTTO_THREAD_NORMAL = 0, /**< Default scheduling. */
    SOTTO_THREAD_IDLE   = 1  /**< Runs only while no other thread needs the core. */
};

/** Step modes, as bit flags. */
typedef uint32_t sotto_step_flags;
enum {
    /**
     * The backend may compute the next tokens of the step's streams after it has returned. Set in
     * SOTTO_MODE_PRIORITIZE_COMPUTE.
     */
    SOTTO_STEP_COMPUTE_AHEAD = 1
};

/**
 * Step of bounded cost for one or more streams of one model, all with the same adapters and scales.
 *
 * @since 0.1
 */
typedef struct sotto_step {
    uint32_t                struct_size;  /**< sizeof(sotto_step). */
    uint32_t                count;        /**< Number of items. 1 unless the model is batchable. */
    sotto_step_item* const* items;        /**< Work items, one per stream. */
    uint32_t                threads;      /**< Maximum compute threads, including the calling thread. */
    sotto_thread_class      thread_class; /**< Class of the calling thread; also required of helpers. */
    sotto_gate_fn           gate;         /**< Gate to call between parts of the step. Never NULL. */
    void*                   context;      /**< First argument of `gate`. */
    sotto_step_flags        flags;        /**< Step modes. */
    uint32_t                reserved;     /**< 0. */
} sotto_step;

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_MODULE_STREAM_H */
