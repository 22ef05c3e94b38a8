/**
 * @file sotto/model.h
 * Loads, unloads and lists models.
 *
 * A model loads on a separate thread while other models keep computing. A load is a request like any
 * other: it sends SOTTO_EVENT_PROGRESS and can be cancelled.
 *
 *     sotto_model_desc desc = SOTTO_INIT(sotto_model_desc);
 *     desc.id = (sotto_str){"sotto/house", SOTTO_NUL};
 *     sotto_request loading;
 *     sotto_engine_load_model(engine, &desc, &loading);
 *
 * Options of the llama backend, as a JSON object in `options`. An unknown option, or a value out of
 * range, ends the load with SOTTO_ERROR_ARGUMENT:
 *
 *     context         context length of one stream in tokens, 16 to the model's training context;
 *                     default: 2048, or the training context if that is less
 *     min_context     shortest context to which the model may be reduced if memory is short; default:
 *                     `context` if that is set, else 512, or the default context if that is less
 *     parallel        number of slots (concurrent answers), 1 to 64; default: 4. Memory is reserved
 *                     for each slot
 *     batch           maximum tokens in one step, `parallel` to 4096; default: 512. A larger batch
 *                     prefills faster and takes more memory
 *     ubatch          tokens that one graph computes, 1 to `batch`; default: by model and memory
 *     threads         maximum threads of a step that only decodes, 1 to 512, within those of the
 *                     engine; default: no limit of its own
 *     threads_batch   maximum threads of a step that prefills, 1 to 512; default: `threads`
 *     mmap            true: map the weights file where possible; false: read it. Default: true. On a
 *                     device other than "cpu" the file is read
 *     mlock           true: lock the weights in main memory, so that they are never swapped out. If
 *                     the system refuses, the load succeeds and the log has a warning. Default: false
 *     check_tensors   true: read all tensors first, and refuse a file with NaN, infinite or invalid
 *                     numbers, with SOTTO_ERROR_MODEL and the tensor's name. Default: false
 *     gpu_layers      number of layers on the device, including the output layer, 0 to 65536;
 *                     default: all. The CPU computes the other layers
 *     flash_attention "auto" (the fastest in decode, if memory allows), "on" or "off"; default: "auto"
 *     kv_type         type of the KV cache: "f16", or "q8_0", which takes about half the memory and
 *                     needs flash attention; default: "f16"
 *     offload_kqv     true: the KV cache of layers on the device is there too; false: it is in host
 *                     memory, where the CPU computes attention. Default: true
 *     rope_freq_base  RoPE base frequency, 1 to 1e12; default: what the model's file says
 *     rope_freq_scale RoPE position factor, 1e-6 to 1000; default: what the model's file says. Below
 *                     1, `context` may be the training context divided by it
 *     speculative     "lookup": speculative decoding by prompt lookup: drafts the tokens that followed the
 *                     same words before, and verifies several in one step, while one stream decodes alone
 *                     and as long as it saves time; answers are the same except for rounding. Needs a
 *                     model without a sliding window or a recurrent state. Default: "off"
 *     draft           path of a small draft model with the same vocabulary, which drafts where lookup
 *                     finds nothing; takes memory of its own. "": no draft model
 *     draft_max       maximum draft tokens per step, 1 to 15; default: 15
 *     chat_template   Jinja chat template; default: the model's own
 *     projector       path of a projector (mmproj) for image or audio input; "": no projector. The file
 *                     system reads it, so it does not work with sotto_engine_desc.files
 *     image_tokens    maximum tokens of one image, 64 to 16384, for models that accept images of any
 *                     size; default: the model's own maximum, which may exceed `context`
 *     pooling         "mean", "cls" or "last": the model embeds texts instead of generating text; "none": it
 *                     embeds each token of a text; "rank": it ranks documents, if it has a classification
 *                     head. Default: what its file says. `context` then limits one text, and `parallel` is
 *                     32 by default
 *
 * Options of the proxy backend, whose models an OpenAI-compatible server answers for: base_url (required),
 * api_key, api_key_env, model, organization, project, headers, connect_timeout_ms, read_timeout_ms,
 * timeout_ms, max_retries, parallel, check, verify_ssl and ca_file.
 */
#ifndef SOTTO_MODEL_H
#define SOTTO_MODEL_H

#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Describes a model to load. A zero field takes its default.
 *
 * @since 0.1
 */
typedef struct sotto_model_desc {
    uint32_t            struct_size; /**< sizeof(sotto_model_desc). */
    sotto_request_flags flags;       /**< SOTTO_REQUEST_PRIVATE or 0. */
    sotto_str           id;          /**< Name of the model in requests. Required. */
    sotto_str           path;        /**< Model file. Empty: the id is a path, or "sotto/house". */
    sotto_str           backend;     /**< Backend name. Empty: the first available module. */
    sotto_str           options;     /**< Backend options, a JSON object. Empty: all defaults. */
    uint64_t            user;        /**< User data, copied into each event. */
} sotto_model_desc;

/**
 * Starts loading a model. Never waits.
 *
 * The request ends with SOTTO_OK when the model is ready, or at once if it is already loaded. On failure
 * it ends with SOTTO_ERROR_NOT_FOUND, SOTTO_ERROR_MODEL, SOTTO_ERROR_BUDGET, SOTTO_ERROR_UNSUPPORTED,
 * SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_MEMORY or SOTTO_ERROR_CANCELLED. If a shared card or a device cannot
 * hold the model, the engine tries the next one: the engine's own device, then the CPU.
 *
 * @param engine   The engine that loads the model.
 * @param desc     The model to load, copied.
 * @param request  Out: the request id that its events carry, or 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_load_model(sotto_engine* engine, const sotto_model_desc* desc, sotto_request* request);

/**
 * Starts unloading a model. Never waits.
 *
 * Requests that still run on the model end with SOTTO_ERROR_CANCELLED. The unload request ends with
 * SOTTO_OK when the memory is freed, or with SOTTO_ERROR_NOT_FOUND.
 *
 * @param engine   The engine that holds the model.
 * @param id       The id under which the model was loaded.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its events carry, or 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_unload_model(
    sotto_engine* engine, sotto_str id, sotto_request_flags flags, sotto_request* request
);

/**
 * Lists the models that are ready, as OpenAI model objects with backend, context, bytes and adapters
 * (`name`, `path`, `scale`, `bytes`) of each, and `details`, the backend's description: of the llama backend
 * also metadata, special tokens and chat templates of the file, limited in number and length.
 * Never waits for a model; may block briefly while another thread is inside this call.
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
