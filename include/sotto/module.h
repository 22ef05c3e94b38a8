/**
 * @file sotto/module.h
 * For those who write a backend: inside a module we load, or inside the host itself.
 *
 * A backend opens models. A model has streams: one conversation each, opened from a request.
 * A stream works through its prompt, then yields tokens, in steps that the engine asks for. The
 * engine decides when, how much, and for which streams together; it holds text back until
 * characters are whole, finds stop sequences, counts, and paces. A backend only computes.
 *
 * Threads: `open`, `measure` and `close` of models run on the loader thread; everything that
 * takes a stream, and `step`, on the compute thread. Two calls for one model never overlap,
 * but `open` of one model may run while another one steps, and `prepare` and `prepared_close`
 * run on other threads whatever else runs for the model, except `open` and `close`.
 *
 * A function that fails returns a status below zero and points `why` at one line of English
 * that stays until the next call for the same model (for `open`, `measure` and `prepare`: on the
 * same thread). Nothing may throw or unwind through these functions, and none may call the engine.
 *
 * Engines: a module's file is opened once per process, and its entry function is called once per
 * engine, which gets a `self` of its own. Calls with different `self` run at the same time, on the
 * threads of their engines; what a module keeps beside its `self` must bear that. A table that a
 * host hands to two engines gets the calls of both at the same time, with the same `self`, for
 * different models: the engines share nothing else, and no call for one waits for the other.
 *
 * This header holds for a minor version; the others for a major one.
 */
#ifndef SOTTO_MODULE_H
#define SOTTO_MODULE_H

#include "module_model.h"
#include "module_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Takes a log line. */
typedef void(SOTTO_CALL* sotto_message_fn)(void* context, sotto_log_level level, sotto_str message);

/**
 * What the engine lends a backend for as long as that lives.
 *
 * @since 0.1
 */
typedef struct sotto_backend_host {
    uint32_t         struct_size; /**< sizeof(sotto_backend_host). */
    sotto_log_level  log_level;   /**< Lines above this level are not wanted. */
    sotto_message_fn log;         /**< Takes a log line. From any thread. */
    void*            context;     /**< First argument of the function above. */
} sotto_backend_host;

/** Opens a model. Out: the model, and what it is and takes. */
typedef sotto_status(SOTTO_CALL* sotto_backend_open_fn)(
    void* self, const sotto_model_source* source, void** model, sotto_model_info* info, sotto_str* why
);
/** Says what a model would be and take, as far as can be known without loading it. */
typedef sotto_status(SOTTO_CALL* sotto_backend_measure_fn)(
    void* self, const sotto_model_source* source, sotto_model_info* info, sotto_str* why
);
/** Frees a model, whose streams are closed. */
typedef void(SOTTO_CALL* sotto_backend_close_fn)(void* self, void* model);
/**
 * Prepares a request for `stream_open`: reads it, renders and tokenizes its prompt. Several calls may run at
 * once. `cancelled` is called with `context` between pieces of the work; not 0: end, with
 * SOTTO_ERROR_CANCELLED. Out: `prepared`; where no stream is needed, also the whole response as
 * `info->result`, which stays until `prepared` is closed.
 */
typedef sotto_status(SOTTO_CALL* sotto_prepare_fn)(
    void*                    self,
    void*                    model,
    const sotto_stream_desc* desc,
    sotto_gate_fn            cancelled,
    void*                    context,
    void**                   prepared,
    sotto_stream_info*       info,
    sotto_str*               why
);
/** Frees a prepared request that `stream_open` never got. */
typedef void(SOTTO_CALL* sotto_prepared_close_fn)(void* self, void* model, void* prepared);
/** Opens a stream: reads the request, makes its prompt, if it is not prepared. Computes nothing yet. */
typedef sotto_status(SOTTO_CALL* sotto_stream_open_fn)(
    void*                    self,
    void*                    model,
    const sotto_stream_desc* desc,
    void**                   stream,
    sotto_stream_info*       info,
    sotto_str*               why
);
/** Ends a stream. What the model remembers of it may serve a later one. */
typedef void(SOTTO_CALL* sotto_stream_close_fn)(void* self, void* model, void* stream);
/**
 * Reads what was generated so far, `text`, in the form that the model was taught. Out: what that
 * adds to what was read before, a JSON array of deltas as in OpenAI's stream chunks ("content",
 * "reasoning_content", "tool_calls"). Stays as long as `why`. `last`: nothing will follow.
 */
typedef sotto_status(SOTTO_CALL* sotto_stream_parse_fn)(
    void* self, void* model, void* stream, sotto_str text, int32_t last, sotto_str* deltas, sotto_str* why
);
/** Takes bytes of a state. Not 0: there is no room for them; end, with SOTTO_ERROR_MEMORY. */
typedef int32_t(SOTTO_CALL* sotto_write_fn)(void* context, const void* bytes, size_t count);
/** Writes what the model remembers of a stream. Out: how many tokens that is. */
typedef sotto_status(SOTTO_CALL* sotto_state_save_fn)(
    void*          self,
    void*          model,
    void*          stream,
    sotto_write_fn write,
    void*          context,
    uint32_t*      tokens,
    sotto_str*     why
);
/** Remembers a saved state, for the next stream that begins with its tokens. Out: how many those are. */
typedef sotto_status(SOTTO_CALL* sotto_state_restore_fn)(
    void* self, void* model, sotto_str state, uint32_t* tokens, sotto_str* why
);
/** Gives a stream's place to another one. It takes no step until it has one again. */
typedef void(SOTTO_CALL* sotto_stream_park_fn)(void* self, void* model, void* stream);
/** Gives it a place again. Out: tokens to be worked through again first, like those of a prompt. */
typedef sotto_status(SOTTO_CALL* sotto_stream_unpark_fn)(
    void* self, void* model, void* stream, uint32_t* remaining, sotto_str* why
);
/**
 * Has so many places from now on, from 0 to as many as its options have, while no stream has one:
 * all are parked, and what else was remembered is forgotten. Of 0 places, nothing is left of `kv`
 * and `compute`. A failure leaves as many as before, or 0. Out: what it takes now; no texts.
 */
typedef sotto_status(SOTTO_CALL* sotto_model_resize_fn)(
    void* self, void* model, uint32_t places, sotto_model_info* info, sotto_str* why
);
/**
 * Takes a step. A status below zero fails every stream in it, but for SOTTO_ERROR_CANCELLED. From any
 * function, SOTTO_ERROR_DEVICE says that what the model is on was lost, for good: its streams and the
 * model are closed, and it is opened again on the device "cpu".
 */
typedef sotto_status(SOTTO_CALL* sotto_step_fn)(
    void* self, void* model, const sotto_step* step, sotto_str* why
);

/**
 * Frees what is behind `self`: the engine that it was made for ends, all models are closed, and no call with
 * this `self` follows. What the engine lent is gone afterwards. On the thread that destroys the engine.
 */
typedef void(SOTTO_CALL* sotto_backend_release_fn)(void* self);

/** What a backend computes with, beside the processor; any of them together. */
typedef uint32_t sotto_backend_uses;
enum {
    /**
     * CUDA, through the driver's current context. While a card is shared (sotto_engine_attach_gpu()),
     * that is current whenever a function below is called for a model that was opened in it, and the
     * source's device is "cuda": the card of that context. The backend makes no context of its own
     * then, and leaves the one it found. Else the source's device is the engine's: one that names
     * CUDA ("cuda", "cuda0", "cuda:" and a UUID) is a card in the driver's primary context, and for
     * any other the backend leaves CUDA alone. Streams and models are closed without the context
     * where the driver fails.
     */
    SOTTO_BACKEND_CUDA = 1
};

/**
 * A backend: functions, and the pointer they all get back.
 *
 * A module fills it in its entry function, a host hands it to sotto_engine_add_backend().
 *
 * @since 0.1
 */
typedef struct sotto_backend {
    uint32_t                 struct_size;    /**< sizeof(sotto_backend). */
    sotto_backend_uses       uses;           /**< What it computes with. 0: the processor alone. */
    sotto_str                name;           /**< "llama", ... Lives as long as the backend. */
    sotto_str                description;    /**< JSON object for people: version, tier, ... Or empty. */
    void*                    self;           /**< First argument of every function below. */
    sotto_backend_open_fn    open;           /**< Required. */
    sotto_backend_measure_fn measure;        /**< Optional. */
    sotto_backend_close_fn   close;          /**< Required. */
    sotto_stream_open_fn     stream_open;    /**< Required. */
    sotto_stream_close_fn    stream_close;   /**< Required. */
    sotto_step_fn            step;           /**< Required. */
    sotto_stream_parse_fn    stream_parse;   /**< Required of a backend whose streams are `parsed`. */
    sotto_state_save_fn      state_save;     /**< Required of a backend with fingerprints. */
    sotto_state_restore_fn   state_restore;  /**< Required of a backend with fingerprints. */
    sotto_stream_park_fn     stream_park;    /**< Optional: streams keep their places to the end. */
    sotto_stream_unpark_fn   stream_unpark;  /**< Required where there is `stream_park`. */
    sotto_model_resize_fn    resize;         /**< Optional: a model's places stay. */
    sotto_prepare_fn         prepare;        /**< Required of a preparable model. */
    sotto_prepared_close_fn  prepared_close; /**< Likewise. */
    sotto_backend_release_fn release;        /**< Optional: `self` lives as long as the process. */
} sotto_backend;

/**
 * The one symbol a module exports, marked SOTTO_EXPORT; a new major gets a new name, so an old
 * module is never called. In: `backend->struct_size`. Fills a table for one engine, and is called
 * for each, never twice at the same time. SOTTO_ERROR_UNSUPPORTED, with `why`: not on this machine.
 * SOTTO_ERROR_MEMORY: not now; it is called again at the engine's next load. A module is never
 * unloaded while the process lives.
 */
typedef sotto_status(SOTTO_CALL* sotto_module_v1_fn)(
    const sotto_backend_host* host, sotto_backend* backend, sotto_str* why
);
#define SOTTO_MODULE_SYMBOL "sotto_module_v1"

/**
 * Gives an engine a backend that the host brings. Never waits.
 *
 * It comes before the modules when a model names no backend. One backend can be given to several
 * engines, whose calls then come at the same time; `release` is called once for each of them.
 *
 * @param engine   The engine.
 * @param backend  The backend, copied. What it points at must outlive the engine.
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
