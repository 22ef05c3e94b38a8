/**
 * @file sotto/module.h
 * API for backend authors: backends in a module that the engine loads, or inside the host itself.
 *
 * A backend opens models. A model has streams; each stream is one conversation, opened from a request. A
 * stream prefills its prompt, then generates tokens, in steps that the engine requests. The engine
 * chooses the time and size of each step and the streams in it; it buffers text until UTF-8 characters
 * are complete, matches stop strings, counts tokens, and paces output. A backend only computes.
 *
 * Threads: `open`, `measure` and `close` of models run on the loader thread; `step`, and every function
 * that takes a stream, run on the compute thread. Two calls for one model never overlap, with one
 * exception: `prepare` and `prepared_close` run on other threads, in parallel to any call for the model
 * except `open` and `close`. `open` of one model may run while another model steps. Functions of adapters
 * run on the compute thread, or on the loader thread directly after `open` and before `close`.
 *
 * Errors: a function that fails returns a status below zero and points `reason` at one line of English. The
 * text is valid until the next call for the same model (`open`, `measure` and `prepare`: until the next
 * call on the same thread). These functions must not throw or unwind, and must not call the engine.
 *
 * Engines: a module's file is opened once per process. Its entry function is called once per engine, and
 * each engine gets its own `self`. Calls with different `self` run at the same time, on the threads of
 * their engines; state that a module keeps outside `self` must be thread-safe. If a host passes one table
 * to two engines, both engines call it at the same time, with the same `self`, for different models. The
 * engines share nothing else, and no call for one engine waits for the other.
 *
 * This header is stable within a minor version; the other headers within a major version.
 */
#ifndef SOTTO_MODULE_H
#define SOTTO_MODULE_H

#include "module_model.h"
#include "module_quantize.h"
#include "module_slot.h"
#include "module_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Writes a log line. */
typedef void(SOTTO_CALL* sotto_message_fn)(void* context, sotto_log_level level, sotto_str message);
/** Steps again all streams whose last step set sotto_step_item.wait_ms. Never waits. */
typedef void(SOTTO_CALL* sotto_wake_fn)(void* context);

/**
 * Services that the engine provides to a backend, valid for the backend's lifetime.
 *
 * @since 0.1
 */
typedef struct sotto_backend_host {
    uint32_t         struct_size; /**< sizeof(sotto_backend_host). */
    sotto_log_level  log_level;   /**< Maximum level of the lines to log. */
    sotto_message_fn log;         /**< Writes a log line. Callable from any thread. */
    void*            context;     /**< First argument of `log` and `wake`. */
    sotto_wake_fn    wake;        /**< Steps streams that wait again. Callable from any thread. */
} sotto_backend_host;

/** Opens a model. Out: `model`; `info`, its properties and memory sizes. */
typedef sotto_status(SOTTO_CALL* sotto_backend_open_fn)(
    void* self, const sotto_model_source* source, void** model, sotto_model_info* info, sotto_str* reason
);
/** Returns a model's properties and memory sizes, as far as they are known without loading the model. */
typedef sotto_status(SOTTO_CALL* sotto_backend_measure_fn)(
    void* self, const sotto_model_source* source, sotto_model_info* info, sotto_str* reason
);
/** Frees a model. All streams and adapters of the model are closed before. */
typedef void(SOTTO_CALL* sotto_backend_close_fn)(void* self, void* model);
/**
 * Prepares a request for `stream_open`: parses the request, renders and tokenizes its prompt. Several
 * calls may run at the same time. The backend calls `cancelled` with `context` between parts of the work;
 * if it returns nonzero, `prepare` stops and returns SOTTO_ERROR_CANCELLED. Out: `prepared`; if no stream
 * is needed, also the whole response in `info->result`, valid until `prepared` is closed.
 */
typedef sotto_status(SOTTO_CALL* sotto_prepare_fn)(
    void*                    self,
    void*                    model,
    const sotto_stream_desc* desc,
    sotto_gate_fn            cancelled,
    void*                    context,
    void**                   prepared,
    sotto_stream_info*       info,
    sotto_str*               reason
);
/**
 * Returns the size of an adapter without loading it, and checks the file as far as `adapter_open` does.
 * Called while no step runs.
 */
typedef sotto_status(SOTTO_CALL* sotto_adapter_measure_fn)(
    void* self, void* model, const sotto_adapter_source* source, sotto_adapter_info* info, sotto_str* reason
);
/** Loads an adapter for a model. Out: `adapter`; `info`, its size. On failure the model is as before. */
typedef sotto_status(SOTTO_CALL* sotto_adapter_open_fn)(
    void*                       self,
    void*                       model,
    const sotto_adapter_source* source,
    void**                      adapter,
    sotto_adapter_info*         info,
    sotto_str*                  reason
);
/** Frees an adapter. All streams that use it have ended; some may still be open, and never step again. */
typedef void(SOTTO_CALL* sotto_adapter_close_fn)(void* self, void* model, void* adapter);
/** Frees a prepared request that was never passed to `stream_open`. */
typedef void(SOTTO_CALL* sotto_prepared_close_fn)(void* self, void* model, void* prepared);
/**
 * Opens a stream. Parses the request, renders and tokenizes its prompt, unless `desc->prepared` holds the
 * output of `prepare`. Runs no prefill.
 */
typedef sotto_status(SOTTO_CALL* sotto_stream_open_fn)(
    void*                    self,
    void*                    model,
    const sotto_stream_desc* desc,
    void**                   stream,
    sotto_stream_info*       info,
    sotto_str*               reason
);
/** Closes a stream. The model may keep the stream's KV cache and reuse it for a later stream. */
typedef void(SOTTO_CALL* sotto_stream_close_fn)(void* self, void* model, void* stream);
/**
 * Parses `text`, everything generated so far, in the model's native output format. Out: `deltas`, the
 * additions since the previous call: a JSON array of deltas as in OpenAI's stream chunks ("content",
 * "reasoning_content", "tool_calls"). `deltas` is valid as long as `reason`. `last`: nonzero if no more text
 * follows.
 */
typedef sotto_status(SOTTO_CALL* sotto_stream_parse_fn)(
    void* self, void* model, void* stream, sotto_str text, int32_t last, sotto_str* deltas, sotto_str* reason
);
/** Writes the KV cache state of a stream. Out: `tokens`, the number of tokens in the state. */
typedef sotto_status(SOTTO_CALL* sotto_state_save_fn)(
    void*          self,
    void*          model,
    void*          stream,
    sotto_write_fn write,
    void*          context,
    uint32_t*      tokens,
    sotto_str*     reason
);
/**
 * Loads a saved state into the KV cache, for the next stream whose prompt starts with the tokens of the
 * state. Out: `tokens`, the number of tokens in the state.
 */
typedef sotto_status(SOTTO_CALL* sotto_state_restore_fn)(
    void* self, void* model, sotto_str state, uint32_t* tokens, sotto_str* reason
);
/**
 * Releases a stream's slot for another stream. The stream takes no step until `stream_unpark` gives it a
 * slot.
 */
typedef void(SOTTO_CALL* sotto_stream_park_fn)(void* self, void* model, void* stream);
/**
 * Gives a parked stream a slot again. Out: `remaining`, tokens to prefill again before the stream
 * continues.
 */
typedef sotto_status(SOTTO_CALL* sotto_stream_unpark_fn)(
    void* self, void* model, void* stream, uint32_t* remaining, sotto_str* reason
);
/**
 * Sets the number of slots to `places`, from 0 to the number in the model's options. Called only while no
 * stream holds a slot: all streams are parked. Drops all other cached state. With 0 slots, frees all
 * memory counted in `kv` and `compute`. On failure, the model keeps its previous number of slots, or has
 * 0. Out: `info`, the new memory sizes; its texts are not set.
 */
typedef sotto_status(SOTTO_CALL* sotto_model_resize_fn)(
    void* self, void* model, uint32_t places, sotto_model_info* info, sotto_str* reason
);
/**
 * Runs a step. A status below zero fails every stream in the step, except SOTTO_ERROR_CANCELLED. Any
 * function of a backend may return SOTTO_ERROR_DEVICE: the model's device is lost permanently. The engine
 * then closes the model and its streams, and opens the model again on the device "cpu".
 */
typedef sotto_status(SOTTO_CALL* sotto_step_fn)(
    void* self, void* model, const sotto_step* step, sotto_str* reason
);

/**
 * Frees the resources behind `self`. Called when the engine of this `self` ends, after all models are
 * closed, on the thread that destroys the engine. No call with this `self` follows. The
 * sotto_backend_host of the engine is invalid afterwards.
 */
typedef void(SOTTO_CALL* sotto_backend_release_fn)(void* self);

/** Compute APIs that a backend uses besides the CPU, and when it is used, as bit flags. */
typedef uint32_t sotto_backend_uses;
enum {
    /**
     * CUDA, through the driver's current context. While a GPU is shared (sotto_engine_attach_gpu()), the
     * shared context is current in every call for a model that was opened in it, and the source's device
     * is "cuda": the GPU of that context. The backend then creates no context of its own, and leaves the
     * shared context current. Otherwise, the source's device is the engine's: a device that names CUDA
     * ("cuda", "cuda0", "cuda:" and a UUID) is a GPU in the driver's primary context; for any other
     * device, the backend does not use CUDA. If the driver fails, streams and models are closed without a
     * current context.
     */
    SOTTO_BACKEND_CUDA    = 1,
    SOTTO_BACKEND_BY_NAME = 2 /**< No API: opens only the models that name this backend. */
};

/**
 * Backend: a function table, and the pointer that every function receives.
 *
 * A module fills the table in its entry function; a host passes it to sotto_engine_add_backend().
 *
 * @since 0.1
 */
typedef struct sotto_backend {
    uint32_t                 struct_size;     /**< sizeof(sotto_backend). */
    sotto_backend_uses       uses;            /**< Compute APIs. 0: CPU only. */
    sotto_str                name;            /**< "llama", ... Valid for the backend's lifetime. */
    sotto_str                description;     /**< JSON object for display: version, tier, ... Or empty. */
    void*                    self;            /**< First argument of every function below. */
    sotto_backend_open_fn    open;            /**< Required. */
    sotto_backend_measure_fn measure;         /**< Optional. */
    sotto_backend_close_fn   close;           /**< Required. */
    sotto_stream_open_fn     stream_open;     /**< Required. */
    sotto_stream_close_fn    stream_close;    /**< Required. */
    sotto_step_fn            step;            /**< Required. */
    sotto_stream_parse_fn    stream_parse;    /**< Required if streams are `parsed`. */
    sotto_state_save_fn      state_save;      /**< Required if models have fingerprints. */
    sotto_state_restore_fn   state_restore;   /**< Required if models have fingerprints. */
    sotto_stream_park_fn     stream_park;     /**< Optional. NULL: streams keep their slots until closed. */
    sotto_stream_unpark_fn   stream_unpark;   /**< Required if `stream_park` is set. */
    sotto_model_resize_fn    resize;          /**< Optional. NULL: the number of slots is fixed. */
    sotto_prepare_fn         prepare;         /**< Required if models are preparable. */
    sotto_prepared_close_fn  prepared_close;  /**< Required if models are preparable. */
    sotto_backend_release_fn release;         /**< Optional. NULL: `self` lives as long as the process. */
    sotto_adapter_measure_fn adapter_measure; /**< Required if `adapter_open` is set. */
    sotto_adapter_open_fn    adapter_open;    /**< Optional. NULL: models have no adapters. */
    sotto_adapter_close_fn   adapter_close;   /**< Required if `adapter_open` is set. */
    sotto_slot_read_fn       slot_read;       /**< Optional. NULL: slots have no numbers. */
    sotto_slot_save_fn       slot_save;       /**< Required if `slot_read` is set. */
    sotto_slot_restore_fn    slot_restore;    /**< Required if `slot_read` is set. */
    sotto_slot_erase_fn      slot_erase;      /**< Required if `slot_read` is set. */
    sotto_quantize_fn        quantize;        /**< Optional. NULL: quantizes no files. */
} sotto_backend;

/**
 * Entry function: the only symbol that a module exports, marked SOTTO_EXPORT. Each major version uses a
 * new symbol name, so modules of an older major version are never called. Fills `backend` for one engine;
 * `backend->struct_size` is set on entry. Called once per engine, never twice at the same time. Returns
 * SOTTO_ERROR_UNSUPPORTED, with `reason`, if the module does not support this machine. Returns
 * SOTTO_ERROR_MEMORY if memory is short at present: the engine calls again at its next load. A module
 * stays loaded as long as the process lives.
 */
typedef sotto_status(SOTTO_CALL* sotto_module_v1_fn)(
    const sotto_backend_host* host, sotto_backend* backend, sotto_str* reason
);
#define SOTTO_MODULE_SYMBOL "sotto_module_v1"

/**
 * Adds a backend of the host to an engine. Never waits.
 *
 * The backend opens the models whose sotto_model_desc.backend is its name, also if a module has the same
 * name. Models that name no backend are opened by a module. One backend can be added to several engines,
 * which then call it at the same time; `release` is called once per engine.
 *
 * @param engine   The engine.
 * @param backend  The backend, copied. Everything that it points at must outlive the engine.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_STATE (the name is taken) or
 *         SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_add_backend(sotto_engine* engine, const sotto_backend* backend);

#ifdef __cplusplus
}
#endif
#endif
