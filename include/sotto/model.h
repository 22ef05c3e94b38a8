/**
 * @file sotto/model.h
 * Bringing models in, and letting them go.
 *
 * Loading happens on a thread of its own: characters go on speaking meanwhile. It is a request
 * like any other, with SOTTO_EVENT_PROGRESS on the way, and can be cancelled.
 *
 *     sotto_model_desc desc = SOTTO_INIT(sotto_model_desc);
 *     desc.id = (sotto_str){"sotto/house", SOTTO_NUL};
 *     sotto_request loading;
 *     sotto_engine_load_model(engine, &desc, &loading);
 *
 * Options of the llama backend, as a JSON object in `options`; one that it does not know, or that
 * is out of its range, ends the load with SOTTO_ERROR_ARGUMENT:
 *
 *     context         tokens that one stream holds, 16 to what the model was trained on; 2048, or
 *                     that if it is less
 *     context_least   tokens that one stream holds at least, where memory is short and the model is made
 *                     smaller; `context` if that is named, else 512, or `context` if it is less
 *     parallel        answers that may be under way at once, 1 to 64; 4. Memory is set aside for each
 *     batch           tokens that one step works through at most, `parallel` to 4096; 512. A larger
 *                     one reads prompts faster, and takes memory
 *     mmap            whether the file is mapped rather than read, where it can be; true. On a device
 *                     other than "cpu" it is read
 *     gpu_layers      layers that are on the device, the one that chooses tokens included, 0 to 65536;
 *                     all. The processor computes the others
 *     flash_attention "auto" (what speaks fastest, if there is room), "on" or "off"; "auto"
 *     kv_type         what is remembered is kept as "f16", or as "q8_0", which takes about half
 *                     and needs flash attention; "f16"
 *     speculative     "lookup": what a stream says next is guessed from what followed the same words
 *                     before, and guesses are checked several in one go, where a stream speaks alone
 *                     and as long as it saves time; answers are the same but for rounding. Wants a
 *                     model without a sliding window or a recurrent state. "off"
 *     draft           path of a small model of the same vocabulary that guesses too, where nothing was
 *                     looked up; it takes memory of its own. "": none
 *     chat_template   Jinja to render conversations with; the model's own
 *     projector       path of a projector (mmproj) that lets the model see or hear; "": none. It is
 *                     read from the file system, so not where the host reads files itself
 *     image_tokens    tokens that an image takes at most, 64 to 16384, where the model reads images
 *                     of any size; what it was made for, which may be more than `context`
 */
#ifndef SOTTO_MODEL_H
#define SOTTO_MODEL_H

#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Which model to load, and how. Zero in a field is its default.
 *
 * @since 0.1
 */
typedef struct sotto_model_desc {
    uint32_t            struct_size; /**< sizeof(sotto_model_desc). */
    sotto_request_flags flags;       /**< SOTTO_REQUEST_PRIVATE or 0. */
    sotto_str           id;          /**< The name requests will use. Required. */
    sotto_str           path;        /**< The file. Empty: the id is a path, or "sotto/house". */
    sotto_str           backend;     /**< Which backend. Empty: the first that there is. */
    sotto_str           options;     /**< JSON object of the backend's options. Empty: every default. */
    uint64_t            user;        /**< Anything. Comes back in each event. */
} sotto_model_desc;

/**
 * Loads a model. Never waits.
 *
 * The request ends with SOTTO_OK once the model answers, at once if it did already; else with
 * SOTTO_ERROR_NOT_FOUND, SOTTO_ERROR_MODEL, SOTTO_ERROR_BUDGET, SOTTO_ERROR_UNSUPPORTED,
 * SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_MEMORY or SOTTO_ERROR_CANCELLED. Where a device or a shared card
 * can't have it, the next place is tried: the engine's own device, then the processor.
 *
 * @param engine   The engine to load into.
 * @param desc     Which model, copied.
 * @param request  Out: the name its events carry, or 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_load_model(sotto_engine* engine, const sotto_model_desc* desc, sotto_request* request);

/**
 * Frees a model. Never waits.
 *
 * Requests that still run on it end with SOTTO_ERROR_CANCELLED. This one ends with SOTTO_OK once
 * the memory is given back, or with SOTTO_ERROR_NOT_FOUND.
 *
 * @param engine   The engine that holds it.
 * @param id       The id it was loaded under.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the name its events carry, or 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_unload_model(
    sotto_engine* engine, sotto_str id, sotto_request_flags flags, sotto_request* request
);

/**
 * Lists the models that answer: an OpenAI model list, with backend, context and bytes of each.
 * Never waits for a model; may wait a moment for another thread inside this call.
 *
 * @param engine  The engine.
 * @param json    Out: one JSON array, or the empty string on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT or SOTTO_ERROR_MEMORY.
 *
 * @owner  The calling thread, until its next call that hands out JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_list_models(sotto_engine* engine, sotto_str* json);

#ifdef __cplusplus
}
#endif
#endif
