/**
 * @file sotto/engine.h
 * Creates, configures and destroys an engine; attaches and detaches a graphics card.
 *
 * An engine owns three kinds of worker thread: a control thread that reads requests and delivers
 * events, a compute thread that runs models, and a loader thread. API calls only queue messages to
 * these threads, so a frame never waits for a model. Any function may be called from any thread, also
 * while another thread destroys the engine: a call on a destroyed engine returns
 * SOTTO_ERROR_ARGUMENT and has no other effect.
 *
 *     sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
 *     sotto_engine*     engine;
 *     if (sotto_engine_create(&desc, &engine) < 0) { ... sotto_last_error() ... }
 *     ...
 *     sotto_engine_destroy(engine);
 *
 * Engines in one process are isolated: an engine does not see, delay or change the work of another
 * engine, except by contention for cores, memory and the graphics card. Only these are process-wide:
 *
 *     - the log level of sotto_log_set_level()
 *     - the numbering of requests and of model devices
 *     - module files: each is opened once; each engine creates its own backend from it
 *     - log lines of llama.cpp's worker threads: they go to every engine that computes at the time
 *     - the graphics driver and llama.cpp's devices on a card: a lost card is lost for all engines
 *     - the CUDA context of a renderer's queue: all engines that received this queue share it
 *     - the SIGBUS handler that guards mapped model files; each mapping belongs to one engine
 *
 * A process may fork(). The worker threads of the parent's engines don't exist in the child: there, each
 * call on such an engine returns SOTTO_ERROR_ARGUMENT with a text that names the cause, and
 * sotto_engine_destroy() returns at once and frees nothing. An engine that the child creates works,
 * whatever the parent was doing, but not on a graphics card that the parent has used. Don't fork
 * inside a callback.
 *
 * Every call works in atexit() handlers and in destructors of static and `thread_local` variables too.
 * Once exit() has destroyed llama.cpp's static data, requests to llama.cpp models and loads of such models
 * end with SOTTO_ERROR_STATE.
 */
#ifndef SOTTO_ENGINE_H
#define SOTTO_ENGINE_H

#include "base.h"
#include "host.h"
#include "gpu.h"
#include "guard.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque engine handle: pass it to calls, never dereference it. */
typedef struct sotto_engine sotto_engine;

/** Priority between models and the game's frames when cores are short. */
typedef int32_t sotto_mode;
enum {
    SOTTO_MODE_BALANCE             = 0, /**< Models run on the cores and time that the game leaves free. */
    SOTTO_MODE_PRIORITIZE_COMPUTE  = 1, /**< Models run like any other thread, on every core. */
    SOTTO_MODE_PRIORITIZE_GRAPHICS = 2  /**< As balance; if that is not enough, models run between frames. */
};

/** Engine flags, combined with `|`. */
typedef uint32_t sotto_engine_flags;
enum {
    /**
     * Makes each answer depend on its request alone, not on concurrent or earlier requests: disables
     * batching and reuse of earlier KV cache contents, and fixes the thread count. Slower.
     */
    SOTTO_ENGINE_DETERMINISTIC = 1,
    /**
     * Steps also wait at gates (wait points inside a step) while the game works on a frame and leaves too
     * few cores free. By default, steps wait at gates only in SOTTO_MODE_PRIORITIZE_GRAPHICS, and only if
     * their threads can't be made to yield to the game's threads.
     */
    SOTTO_ENGINE_GATES = 2
};

/**
 * Engine configuration. A zero field selects the default.
 *
 * @since 0.1
 */
typedef struct sotto_engine_desc {
    uint32_t   struct_size; /**< sizeof(sotto_engine_desc). */
    sotto_mode mode;        /**< Models or frames first. 0: SOTTO_MODE_BALANCE. */
    sotto_str  module_dir;  /**< Folder of backend modules. Empty: the library's folder. */
    /**
     * Device that models run on: "cpu"; "vulkan" (the best Vulkan device), "vulkan0" (by index) or "vulkan:"
     * followed by the card's UUID; the same three forms with "cuda". If the device does not exist, model
     * loads fail with an error that lists the available devices. "auto": the best discrete card that an
     * installed module can use, else "cpu"; creating the engine then waits for the modules and the driver,
     * and `device_reason` of sotto_engine_describe() holds the reason. Empty: "cpu".
     */
    sotto_str device;
    /**
     * Memory budget of all models together, in bytes. 0: no limit. On a CPU device it limits host memory.
     * See budget.h.
     */
    uint64_t                   vram_budget;
    float                      target_tps;     /**< Target tokens per second per stream. 0: no pacing. */
    uint32_t                   trace_capacity; /**< Slices kept for sotto_engine_read_trace(). 0: no trace. */
    const sotto_log_sink*      log;            /**< NULL: default, stderr. */
    const sotto_file_access*   files;          /**< NULL: default, the file system. */
    const sotto_memory_report* memory;         /**< NULL: no callback. */
    const sotto_threads*       threads;        /**< NULL: defaults. */
    const sotto_profiler*      profiler;       /**< NULL: no callbacks. */
    sotto_engine_flags         flags;          /**< Any SOTTO_ENGINE_ flags. */
    uint32_t                   max_requests;   /**< Maximum number of live requests. 0: 65,536. */
    /**
     * Path of a file that records requests and scheduling decisions for sotto_replay(). The file contains
     * the conversations' text. Empty: no recording. The engine creates the file with access for the current
     * user only; if the file exists, creation fails with SOTTO_ERROR_ARGUMENT and leaves it unchanged.
     * A background thread writes the file; it is complete once the engine is destroyed. If the disk is too
     * slow (8 MiB queued, or data still queued 0.7 s after the engine ended), recording stops, and the
     * log reports this once.
     */
    sotto_str record_path;
    /**
     * Folder for spilled KV caches of parked streams when memory is short. Holds one unnamed file, which
     * disappears when the process ends, also after a crash. Empty: the system's temporary folder.
     */
    sotto_str kv_spill_dir;
    /**
     * Bytes of spilled KV caches kept in memory, charged to the budget. 0: 64 MiB. While more is used than
     * is left, a temporary background thread compresses spilled KV caches and moves them to the file.
     */
    uint64_t              kv_spill_memory;
    const sotto_gpu_desc* gpu; /**< As for sotto_engine_attach_gpu(). NULL: no shared card. */
    /**
     * Guardrails of requests and answers. The stage `input` checks user messages and prompts: a request with
     * blocked text ends with SOTTO_ERROR_BLOCKED. The stage `output` checks text, reasoning and tool calls
     * before they become events: a blocked answer ends before the finding, with SOTTO_FINISH_CONTENT_FILTER.
     * Topics and judges check complete answers instead: one that they block or rewrite ends with that finish
     * after its text events, and the response has no text of it, or the replacement.
     * The host may destroy the guard at once. NULL: no guardrails.
     */
    sotto_guard* guard;
} sotto_engine_desc;

/**
 * Creates an engine. Loads no model, and loads modules only if `desc->gpu` is set. Takes well under a
 * frame without `desc->gpu`; sharing a card takes longer.
 *
 * @param desc    Configuration, copied. NULL: defaults.
 * @param engine  Out: the new engine, or NULL on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_UNSUPPORTED, SOTTO_ERROR_BUSY (64 engines
 *         live) or SOTTO_ERROR_MEMORY.
 *
 * @owner  The caller, until sotto_engine_destroy().
 * @thread Any. Starts the worker threads.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_create(const sotto_engine_desc* desc, sotto_engine** engine);

/**
 * Destroys an engine and frees its resources. Waits at most about 100 ms for the running step and the
 * running load, with these exceptions: without a limit if the engine has a host backend, shares a graphics
 * card, records, or is reading through sotto_engine_desc.files; about one second for a disk that does not
 * respond; and in SOTTO_MODE_PRIORITIZE_COMPUTE for a load until its backend next reports progress. A
 * call of a host backend that never returns cannot be ended, since it uses what the engine would free: every
 * 2 seconds of waiting, the log names the backend, its function and the model.
 *
 * Cancels all running requests and discards their events; threads that wait in a call on this engine
 * return SOTTO_ERROR_CANCELLED. NULL or an already destroyed engine has no effect. If a worker thread in the
 * system's idle scheduling class, or of a lower priority than normal, has not ended after 100 ms, the call
 * returns without it, and that thread frees the engine's memory when it ends. No callback runs after this
 * call has returned.
 *
 * @param engine  The engine to destroy.
 *
 * @thread Any, except inside a callback.
 * @since  0.1
 */
SOTTO_API void SOTTO_CALL sotto_engine_destroy(sotto_engine* engine);

/**
 * Sets the priority between models and frames, from the next slice on. Never waits.
 *
 * @param engine  The engine.
 * @param mode    A SOTTO_MODE_ value.
 * @return SOTTO_OK or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_set_mode(sotto_engine* engine, sotto_mode mode);

/**
 * Sets the memory budget of all models together. Never waits.
 *
 * From this call on, no allocation exceeds the budget. If more is already in use, idle models are evicted
 * at once, and decoding models shrink as far as their streams can continue; see sotto/budget.h.
 *
 * @param engine  The engine.
 * @param bytes   The budget in bytes. 0: no limit.
 * @return SOTTO_OK or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_set_vram_budget(sotto_engine* engine, uint64_t bytes);

/**
 * Sets the target token rate of each stream, including running streams. Never waits.
 *
 * @param engine  The engine.
 * @param tps     Tokens per second per stream, finite, at least 0. 0: no pacing.
 * @return SOTTO_OK or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_set_target_tps(sotto_engine* engine, float tps);

/**
 * Starts sharing a graphics card with a renderer. Waits for the driver, and for loading the modules if none
 * is loaded yet. This takes many frames: call it on a loading screen.
 *
 * Selects the tightest sharing level that a backend supports: SOTTO_GPU_SHARING_CIG and _CUDA need a backend
 * that computes with CUDA, SOTTO_GPU_SHARING_VULKAN one that computes with Vulkan. If no backend computes
 * with either, the level is SOTTO_GPU_SHARING_CPU, which is not a failure, and no CUDA context is created.
 * Add host backends before this call. Loaded models move to the card when they are next idle, unless the
 * backend that they were loaded for cannot use it. A model that its backend can't open on the card opens on
 * the engine's own device instead; `refused` of sotto_engine_describe() holds the reason.
 *
 * @param engine  The engine. It has no card yet, or was detached from it.
 * @param gpu     Description, copied. The renderer's objects in it must live until the engine is detached.
 * @param sharing Out: the sharing level, SOTTO_GPU_SHARING_NONE on failure. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_STATE (already shares a card),
 *         SOTTO_ERROR_UNSUPPORTED (below `min_sharing`) or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_attach_gpu(sotto_engine* engine, const sotto_gpu_desc* gpu, sotto_gpu_sharing* sharing);

/**
 * Stops sharing a graphics card. Call it before the renderer destroys its queue or device, or after the
 * device was lost. Waits for the running step and a running model load on the card, and until all memory on
 * the card is freed; does not wait for work on other devices. The step ends at its next gate, within about
 * 100 ms if its thread gets a core. For that, the thread is moved to the normal scheduling class. Linux
 * refuses this to a process with neither CAP_SYS_NICE nor an RLIMIT_NICE of 20; then a step in the idle class
 * takes as long as other threads keep every core busy: seconds, without an upper bound. Mode
 * SOTTO_MODE_PRIORITIZE_COMPUTE never runs steps in the idle class.
 *
 * Sessions keep their conversations. Models on the card are evicted, and reload on the CPU or on the next
 * card when a request needs them. Answers that run on the card end with SOTTO_ERROR_CANCELLED and can be
 * requested again. If two engines share one queue, detach both before destroying the queue.
 *
 * If the device is lost while models compute on it, the engine detects this without this call, provided the
 * backend can report it: answers end with SOTTO_ERROR_DEVICE, models continue on the CPU, and `device_lost`
 * of sotto_engine_describe() holds the reason.
 *
 * @param engine  The engine.
 * @return SOTTO_OK, SOTTO_ERROR_STATE (shares no card) or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any, except inside a callback.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_detach_gpu(sotto_engine* engine);

/**
 * Describes an engine as JSON: versions, device, CPU tier, modules, and the reason for each skipped module.
 * Loads the modules if none is loaded yet, and waits for that.
 *
 * `gpu` is null, or an object if a card is shared: `rung` ("cig", "cuda", "vulkan", "cpu"), `with` ("d3d12",
 * "vulkan", "cuda"), `card` (`name`, `uuid`, `luid`, `vram`, `capability`, or null), `device` (device name
 * passed to backends with "vulkan", else null), `driver` (CUDA version of the driver, or null),
 * `shared_memory` (maximum bytes per kernel; 0: not limited by CiG), `priority` (of CUDA streams, or null),
 * `not_taken` (list of the closer levels, each with `rung` and `reason`), `backends` (names of the backends
 * that may compute on the card; empty: all models run on the engine's own device), and `refused` (object:
 * model to reason, for each model that its backend could not open on the card).
 *
 * @param engine  The engine.
 * @param json    Out: one JSON object, or the empty string on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT or SOTTO_ERROR_MEMORY.
 *
 * @owner  The calling thread, until its next call that returns JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_describe(sotto_engine* engine, sotto_str* json);

#ifdef __cplusplus
}
#endif
#endif
