/**
 * @file sotto/module_stream.h
 * For those who write a backend: streams, and the steps that work for them.
 *
 * This header holds for a minor version, like sotto/module.h, which includes it.
 */
#ifndef SOTTO_MODULE_STREAM_H
#define SOTTO_MODULE_STREAM_H

#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Asked between pieces of a step. May wait. Not 0: end the step, with SOTTO_ERROR_CANCELLED. */
typedef int32_t(SOTTO_CALL* sotto_gate_fn)(void* context);

/** How a stream is to be answered; any of them together. */
typedef uint32_t sotto_stream_flags;
enum {
    SOTTO_STREAM_ALONE = 1 /**< By its request alone: nothing that the model remembers is used. */
};

/**
 * What a stream is to answer.
 *
 * @since 0.1
 */
typedef struct sotto_stream_desc {
    uint32_t  struct_size; /**< sizeof(sotto_stream_desc). */
    sotto_op  op;          /**< What is asked for. */
    sotto_str body;        /**< The request's JSON, checked: fields of ours are of their types and ranges. */
    uint32_t  index;       /**< Which of the request's answers this is, from 0. */
    sotto_stream_flags flags; /**< How it is to be answered. */
    /** What `prepare` made of the request; `stream_open` takes it over, also where it fails. Or NULL. */
    void* prepared;
} sotto_stream_desc;

/**
 * What a stream begins with. Filled by the backend.
 *
 * @since 0.1
 */
typedef struct sotto_stream_info {
    uint32_t  struct_size;   /**< In: sizeof(sotto_stream_info). */
    uint32_t  prompt_tokens; /**< Tokens of the whole prompt. */
    uint32_t  cached_tokens; /**< How many of them need no work, because the model remembers them. */
    uint32_t  dropped;       /**< How many messages were left out of the prompt, so that it fits. */
    sotto_str stops;         /**< JSON array of texts that end an answer of this model, or empty. */
    /**
     * The response as JSON, of an operation that needs no step: there is no stream then. Stays
     * until the next call for the same model.
     */
    sotto_str result;
    int32_t   parsed;   /**< Not 0: what is generated goes through `stream_parse`. */
    uint32_t  reserved; /**< Must be 0. */
} sotto_stream_info;

/** Why a stream yields no more tokens. */
typedef int32_t sotto_finish;
enum {
    SOTTO_FINISH_NONE   = 0, /**< It goes on. */
    SOTTO_FINISH_STOP   = 1, /**< The model came to an end. */
    SOTTO_FINISH_LENGTH = 2  /**< The stream holds no more tokens. */
};

/**
 * One stream's share of a step.
 *
 * @since 0.1
 */
typedef struct sotto_work {
    uint32_t     struct_size; /**< sizeof(sotto_work). */
    uint32_t     tokens;      /**< In: prompt tokens to work through, at most. */
    void*        stream;      /**< In: whose. */
    sotto_str    text;        /**< Out: the token. Stays until the stream steps again or is closed. */
    uint32_t     evaluated;   /**< Out: prompt tokens worked through. */
    uint32_t     remaining;   /**< Out: prompt tokens left. 0: this step or the next yields a token. */
    uint32_t     generated;   /**< Out: tokens yielded, 0 or 1. The end of an answer is none. */
    sotto_finish finish;      /**< Out: whether that was all. */
    sotto_status status;      /**< Out: below 0 if this stream failed. Others go on. */
    /** In: 1. Out: answer tokens that the step decoded for the stream, draft tokens included, at most 65,536.
        0: an earlier step had decoded the token. */
    uint32_t  decoded;
    sotto_str why; /**< Out: why it failed. */
    /** Out: the token's log probabilities, if wanted, a JSON object as in OpenAI's `logprobs.content`. */
    sotto_str logprobs;
} sotto_work;

/** How a thread is scheduled. */
typedef int32_t sotto_thread_class;
enum {
    SOTTO_THREAD_NORMAL = 0, /**< Like any other. */
    SOTTO_THREAD_IDLE   = 1  /**< Only when nothing else wants the core. */
};

/**
 * One step of bounded cost for streams of one model.
 *
 * @since 0.1
 */
typedef struct sotto_step {
    uint32_t           struct_size;  /**< sizeof(sotto_step). */
    uint32_t           count;        /**< How many shares. 1 unless the model is batchable. */
    sotto_work* const* work;         /**< The shares. */
    uint32_t           threads;      /**< How many threads may compute, the calling one included. */
    sotto_thread_class thread_class; /**< Of the calling thread. Helpers must be of the same class. */
    sotto_gate_fn      gate;         /**< To be asked between pieces. Never NULL. */
    void*              context;      /**< First argument of the function above. */
} sotto_step;

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_MODULE_STREAM_H */
