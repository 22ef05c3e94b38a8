/**
 * @file sotto/adapter.h
 * Loads and unloads LoRA adapters, and sets their scales.
 *
 * An adapter changes how a model writes without a second copy of its weights. A model holds several
 * adapters at once, each under a name. The request field `lora` selects them, for example
 * `[{"name": "pirate", "scale": 0.8}]`; without `scale`, the adapter's own scale applies. `[]` selects none.
 * A request without the field uses its session's `lora`, else the adapter "default", if one is loaded.
 *
 *     sotto_adapter_desc desc = SOTTO_INIT(sotto_adapter_desc);
 *     desc.model = (sotto_str){"sotto/house", SOTTO_NUL};
 *     desc.name = (sotto_str){"pirate", SOTTO_NUL};
 *     desc.path = (sotto_str){"pirate.gguf", SOTTO_NUL};
 *     sotto_request loading;
 *     sotto_engine_load_adapter(engine, &desc, &loading);
 *
 * A request keeps the adapters and scales with which it was accepted: unloading, replacing or scaling an
 * adapter changes later requests only. The memory of an unloaded adapter is freed when the last request
 * that uses it ends. KV cache contents are reused only under the same adapters and scales.
 *
 * Streams with the same adapters and scales are decoded in one step. Streams with different ones take
 * turns of about 50 ms of compute time, so each of n sets gets 1/n of the throughput of the model.
 */
#ifndef SOTTO_ADAPTER_H
#define SOTTO_ADAPTER_H

#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Describes an adapter to load. A zero field takes its default.
 *
 * @since 0.1
 */
typedef struct sotto_adapter_desc {
    uint32_t            struct_size; /**< sizeof(sotto_adapter_desc). */
    sotto_request_flags flags;       /**< SOTTO_REQUEST_PRIVATE or 0. */
    sotto_str           model;       /**< Id of a loaded model. Required. */
    sotto_str           name;        /**< Name in requests, 1 to 128 bytes. Empty: "default". */
    sotto_str           path;        /**< GGUF file of the adapter. Required. */
    uint64_t            user;        /**< User data, copied into each event. */
    float               scale;       /**< Strength, -1000 to 1000. 0: 1, the full effect. */
    uint32_t            reserved;    /**< Must be 0. */
} sotto_adapter_desc;

/**
 * Starts loading an adapter for a loaded model. Never waits.
 *
 * The adapter is read between two steps of the engine's models. If the name is taken, the new adapter
 * replaces the old one once it is loaded. Its memory is charged to the budget. The request ends with
 * SOTTO_OK, or with SOTTO_ERROR_NOT_FOUND (model or file), SOTTO_ERROR_MODEL (the file is damaged or made
 * for another model), SOTTO_ERROR_UNSUPPORTED, SOTTO_ERROR_BUDGET, SOTTO_ERROR_ARGUMENT,
 * SOTTO_ERROR_MEMORY, SOTTO_ERROR_DEVICE or SOTTO_ERROR_CANCELLED; the model is then as before. If the
 * model is evicted, its adapters are loaded again together with the model.
 *
 * @param engine   The engine that holds the model.
 * @param desc     The adapter to load, copied.
 * @param request  Out: the request id that its events carry, or 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_load_adapter(sotto_engine* engine, const sotto_adapter_desc* desc, sotto_request* request);

/**
 * Unloads an adapter. Never waits.
 *
 * Requests that use the adapter finish with it. The unload request ends at once, with SOTTO_OK, or with
 * SOTTO_ERROR_NOT_FOUND if there is no such model or adapter. The engine frees the adapter's memory soon
 * after the last of these requests.
 *
 * @param engine   The engine that holds the model.
 * @param model    The id of the model.
 * @param name     The name of the adapter. Empty: "default".
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its events carry, or 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_unload_adapter(
    sotto_engine* engine, sotto_str model, sotto_str name, sotto_request_flags flags, sotto_request* request
);

/**
 * Sets the scale of an adapter for later requests. Never waits.
 *
 * The request ends at once, with SOTTO_OK, or with SOTTO_ERROR_NOT_FOUND if there is no such model or
 * adapter.
 *
 * @param engine   The engine that holds the model.
 * @param model    The id of the model.
 * @param name     The name of the adapter. Empty: "default".
 * @param scale    Strength, -1000 to 1000. 1: the full effect. 0: no effect.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its events carry, or 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_set_adapter_scale(
    sotto_engine*       engine,
    sotto_str           model,
    sotto_str           name,
    float               scale,
    sotto_request_flags flags,
    sotto_request*      request
);

#ifdef __cplusplus
}
#endif
#endif
