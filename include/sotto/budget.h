/**
 * @file sotto/budget.h
 * What the engine takes of a device's memory, and the ceiling that it never goes over.
 *
 * Everything large is put down in a ledger before it is allocated: what is put down never exceeds the
 * budget of sotto_engine_desc or sotto_engine_set_vram_budget(). A model that would not fit as it is
 * asked for is made smaller, step by step, and no further than its options allow:
 *
 *     1  as asked
 *     2  what streams remember in fewer bits (kv_type "q8_0"), unless options name a kv_type
 *     3  on a device, fewer layers there and the others on the processor, unless options name `gpu_layers`
 *     4  fewer streams at once, down to one, unless options name a `parallel`
 *     5  shorter streams, down to 512 tokens or the option `context_least`, unless options name a
 *        `context` and no `context_least`
 *     6  other models that are idle give up what their streams remembered, then their weights, the one
 *        unused longest first; they come back by themselves when they are asked for
 *     7  it is refused with SOTTO_ERROR_BUDGET, which names what is needed, what there is, and what
 *        would help
 *
 * Where the budget is lowered below what is in use, idle models give way as in step 6, at once; busy
 * ones give up places, and streams that had one are parked: they go on in turn, and say the same. Places
 * that pinned sessions keep (sotto/request.h) go last. Until what is in use fits again nothing new is begun:
 * a request waits, or fails, as its `on_budget` says.
 * Where models run on a device, its memory counts, and the machine's that they take beside it is told as
 * `host`. Else "VRAM" is the machine's memory, and weights are read into it, not mapped.
 */
#ifndef SOTTO_BUDGET_H
#define SOTTO_BUDGET_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Tells who has how much of the device's memory. Never waits for a model; may wait a moment for
 * another thread inside this call. Reads some small files of the operating system and asks the drivers,
 * which takes some tenths of a millisecond and more on a slow machine: call it once a second, not each frame.
 *
 * The JSON object has `budget` (0: none), `used`, `peak` and `over` (so much more than the budget is in use
 * since that was lowered), each in bytes; `uses` ("weights", "kv", "compute", "adapter", "image",
 * "staging": what is parked), each with `used` and `peak`; `models`, a list of objects with `id`, `state`
 * ("ready", "loading", "asleep", "leaving"), `streams` (places now), `streams_most`, `host` (bytes that do
 * not count, see above), and the bytes of each use; `parked` with `count`, `memory` and `disk` (bytes);
 * `system`, what the system itself says: `total`, `available`, `process` (of memory of its own) and `mapped`
 * (of files), or null, with `device`: what Vulkan's driver says of the device's memory, `total`, `available`
 * and `process` (of this process, its graphics too), or null; `cards`, what NVIDIA's driver says of each
 * graphics card: `name`, `uuid`, `total` and `available`; and `adapters`, what Windows says of each: `name`,
 * `luid`, `total`, `budget` (what this process may use of it now) and `used`.
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
 * Finds out what a model would take, and how it would fit, without loading it. Never waits.
 *
 * The request's SOTTO_EVENT_DONE carries a JSON object: `model`, `budget`, `used` and `free` (bytes; null: no
 * limit), `kv_per_token` (bytes), `rungs`, a list of what was tried with `rung` ("as asked", "small kv",
 * "fewer layers", "fewer streams", "shorter streams", "unload idle"), `streams`, `context`, `weights`, `kv`,
 * `compute`, `bytes` (their sum), `host`, `layers` (on the device) and `fits`; `fits` and `rung`, the first
 * that does, or null; and `why`, in words, where none does.
 *
 * @param engine   The engine that would load it.
 * @param desc     Which model, copied.
 * @param budget   Bytes that it may take, alone. 0: what the engine has left.
 * @param request  Out: the name its events carry, or 0 on failure.
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
