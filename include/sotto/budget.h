/**
 * @file sotto/budget.h
 * The memory budget: a ceiling on the memory of all models together.
 *
 * The engine charges every large block to a ledger before it allocates the block, and the ledger never
 * exceeds the budget of sotto_engine_desc or sotto_engine_set_vram_budget(). If a model does not fit as
 * requested, the engine reduces it step by step, and no further than its options allow:
 *
 *     1  the model as requested
 *     2  KV cache in fewer bits (kv_type "q8_0"), unless options set `kv_type`
 *     3  on a device, fewer layers there and the others on the CPU, unless options set `gpu_layers`
 *     4  fewer slots, down to one, unless options set `parallel`
 *     5  shorter streams, down to 512 tokens or the option `min_context`, unless options set `context`
 *        without `min_context`
 *     6  eviction of other idle models, least recently used first: their KV cache, then their weights;
 *        an evicted model reloads by itself when a request needs it
 *     7  the load fails with SOTTO_ERROR_BUDGET and a message that names the required bytes, the
 *        available bytes and possible remedies
 *
 * If the budget is lowered below the memory in use, the engine evicts idle models at once, as in step 6.
 * Busy models release slots; the streams in those slots are parked and continue in turn, with the same
 * text. Slots of pinned sessions (sotto/request.h) are released last. Until the memory in use fits again,
 * nothing new is admitted: a request waits or fails as its `on_budget` says.
 * If models run on a device, the budget limits the device's memory, and the main memory that the models
 * also use is reported as `host`. On a CPU device, the budget is a ceiling on main memory, and weights are
 * read into memory instead of being mapped.
 */
#ifndef SOTTO_BUDGET_H
#define SOTTO_BUDGET_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Reports memory use by purpose and by model. Never waits for a model; may block briefly while another
 * thread is inside this call. Reads small files of the operating system and queries the drivers, which
 * takes some tenths of a millisecond, longer on a slow machine: call it once a second, not each frame.
 *
 * Fields of the JSON object, all sizes in bytes:
 *
 *     budget    the ceiling; 0: no limit
 *     used      memory in use; `peak`: its maximum
 *     over      memory in use above the budget, after the budget was lowered
 *     uses      "weights", "kv", "compute", "adapter", "image", "spilled_kv" (parked KV cache), each with
 *               `used` and `peak`
 *     models    list of objects with `id`, `state` ("ready", "loading", "evicted", "leaving"), `streams`
 *               (current slots), `max_streams`, `host` (main memory outside the budget, see above) and the
 *               bytes of each use
 *     parked    `count`, `memory` and `disk`
 *     system    null, or memory reported by the operating system: `total`, `available`, `process` (private
 *               memory of the process), `mapped` (mapped files) and `device`: null, or device memory
 *               reported by the Vulkan driver: `total`, `available` and `process` (this process, including
 *               its graphics)
 *     cards     graphics cards reported by the NVIDIA driver: `name`, `uuid`, `total`, `available`
 *     adapters  adapters reported by Windows: `name`, `luid`, `total`, `budget` (bytes that this process
 *               may use now), `used`
 *
 * @param engine  The engine.
 * @param json    Out: one JSON object, or the empty string on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT or SOTTO_ERROR_MEMORY.
 *
 * @owner  The calling thread, until its next call that hands out JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_memory(sotto_engine* engine, sotto_str* json);

/**
 * Starts computing the memory needs of a model, and the steps that make it fit, without loading it.
 * Never waits.
 *
 * The request's SOTTO_EVENT_REQUEST_DONE carries a JSON object, all sizes in bytes:
 *
 *     model         id of the model
 *     used          bytes that loaded models use
 *     budget, free  the memory budget, and what is left of it; null: no limit
 *     kv_per_token  KV cache of one token
 *     rungs         list of the steps tried: `rung` ("as asked", "small kv", "fewer layers", "fewer streams",
 *                   "shorter streams", "unload idle"), `streams`, `context`, `weights`, `kv`, `compute`,
 *                   `bytes` (sum of the last three), `host` (main memory used besides, if the
 *                   model runs on a device), `layers` (number of layers on the device) and `fits`
 *     fits, rung    true and the first rung that fits, or false and null
 *     reason        reason in words if no rung fits
 *
 * @param engine   The engine that would load the model.
 * @param desc     The model, copied.
 * @param budget   Bytes available to this model alone. 0: the bytes that the engine's budget has left.
 * @param request  Out: the request id that its events carry, or 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_plan_model(
    sotto_engine* engine, const sotto_model_desc* desc, uint64_t budget, sotto_request* request
);

#ifdef __cplusplus
}
#endif
#endif
