/**
 * @file sotto/engine.h
 * An engine's life, and what may be changed while it runs.
 *
 * An engine owns three kinds of worker: a control thread that reads requests and hands out
 * events, a compute thread that runs models, and a loader. The host's calls only pass notes to
 * them, so a frame never waits for a model. Any function may be called from any thread, also
 * while another thread destroys the engine: what comes too late fails with
 * SOTTO_ERROR_ARGUMENT and harms nothing.
 *
 *     sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
 *     sotto_engine*     engine;
 *     if (sotto_engine_create(&desc, &engine) < 0) { ... sotto_last_error() ... }
 *     ...
 *     sotto_engine_destroy(engine);
 *
 * Engines of one process are islands: none sees, delays or changes what another does, except by the
 * cores, the memory and the card that they compete for. Process-wide by design, and nothing else:
 * the level of sotto_log_set_level(); the numbering of requests and models' devices; the files of
 * modules, opened once, while each engine has a backend of its own out of them; what llama.cpp logs
 * on its worker threads, which goes to every engine that computes at the time; the driver of a
 * graphics card and llama.cpp's devices on it, so that a card that is lost is lost to all engines;
 * the CUDA context of a renderer's queue, which the engines that were given that queue share; the
 * handler of SIGBUS that guards mapped model files, each of which is one engine's.
 *
 * A process may fork(). A child process has none of the threads of its parent's engines: each call on
 * one of those fails there with SOTTO_ERROR_ARGUMENT and a text that says so, and
 * sotto_engine_destroy() returns at once and frees nothing. An engine that the child creates works,
 * whatever the parent was doing, but not on a graphics card that the parent has used. Don't fork
 * inside a hook.
 *
 * Every call works in atexit() handlers and in destructors of static and `thread_local` variables too.
 * Requests and loads of llama.cpp's models end with SOTTO_ERROR_STATE once exit() has ended what it keeps.
 */
#ifndef SOTTO_ENGINE_H
#define SOTTO_ENGINE_H

#include "base.h"
#include "host.h"
#include "gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Everything the library does hangs off one of these. Never to be read through. */
typedef struct sotto_engine sotto_engine;

/** Who comes first when the machine is short: the models or the frame. */
typedef int32_t sotto_mode;
enum {
    SOTTO_MODE_BALANCE             = 0, /**< Models run on what the game leaves free. */
    SOTTO_MODE_PRIORITIZE_COMPUTE  = 1, /**< Models run like any other thread, on every core. */
    SOTTO_MODE_PRIORITIZE_GRAPHICS = 2  /**< As balance, and where that is not enough, between its frames. */
};

/** How an engine works; any of them together. */
typedef uint32_t sotto_engine_flags;
enum {
    /**
     * An answer depends on its request alone, not on what else is asked for at the time: nothing is
     * computed together or remembered from before, and always on as many threads. Slower.
     */
    SOTTO_ENGINE_DETERMINISTIC = 1,
    /**
     * Steps also wait inside, at gates, while the game works on a frame and leaves no core free. By
     * default they do so only where a step's threads cannot be made to yield to the game's.
     */
    SOTTO_ENGINE_GATES = 2
};

/**
 * What a host asks of an engine. Zero in a field is its default.
 *
 * @since 0.1
 */
typedef struct sotto_engine_desc {
    uint32_t   struct_size; /**< sizeof(sotto_engine_desc). */
    sotto_mode mode;        /**< Who comes first. */
    sotto_str  module_dir;  /**< Where backend modules are. Empty: beside this library. */
    /**
     * Where models run: "cpu"; "vulkan" (the best card of Vulkan's), "vulkan0" (that of this number), or
     * "vulkan:" and the card's UUID; "cuda", "cuda0" or "cuda:" and a UUID likewise. One that is not there
     * fails loads, which say what there is. "auto", or empty: "cpu".
     */
    sotto_str                  device;
    uint64_t                   vram_budget;  /**< Bytes for all models together. 0: no limit. See budget.h. */
    float                      target_tps;   /**< Tokens per second per stream to pace to. 0: no pacing. */
    uint32_t                   trace;        /**< Slices kept for sotto_engine_read_trace(). 0: none. */
    const sotto_log_sink*      log;          /**< NULL: stderr. */
    const sotto_file_access*   files;        /**< NULL: the file system. */
    const sotto_memory_report* memory;       /**< NULL: nobody listens. */
    const sotto_threads*       threads;      /**< NULL: every default. */
    const sotto_profiler*      profiler;     /**< NULL: nobody looks. */
    sotto_engine_flags         flags;        /**< How it works. */
    uint32_t                   max_requests; /**< Requests that may be live at once. 0: 65,536. */
    /**
     * A file to record requests and decisions in, for sotto_replay(). It holds what was said. Empty: none.
     * The engine creates it, for its user alone; one that exists is SOTTO_ERROR_ARGUMENT, and is kept.
     * A thread writes it, and it is whole once the engine is destroyed. Where the disk is too slow for it
     * (8 MiB wait, or some do 0.7 s after the engine has ended), it stops, and the log says so once.
     */
    sotto_str record;
    /**
     * A folder for what parked characters remember, where memory is short: one file without a name, gone
     * with the process, however that ends. Empty: the system's folder for temporary files.
     */
    sotto_str park_dir;
    /**
     * Bytes of it that may be in memory, within the budget. 0: 64 MiB. Where more is taken than is left, it
     * is packed and moved to files, by a thread that is there for as long as that takes.
     */
    uint64_t              park_memory;
    const sotto_gpu_desc* gpu; /**< As for sotto_engine_attach_gpu(). NULL: nothing is shared yet. */
} sotto_engine_desc;

/**
 * Creates an engine. Loads no model yet, and no module unless `desc->gpu` is there, so it takes well
 * under a frame; to share a card takes longer.
 *
 * @param desc    What is asked of it, copied. NULL: every default.
 * @param engine  Out: the new engine, or NULL on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_UNSUPPORTED, SOTTO_ERROR_BUSY (64 engines
 *         live) or SOTTO_ERROR_MEMORY.
 *
 * @owner  The caller, who ends it with sotto_engine_destroy().
 * @thread Any. Starts the worker threads.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_create(const sotto_engine_desc* desc, sotto_engine** engine);

/**
 * Ends an engine, and frees everything. Waits for the step under way, for about 100 ms at most.
 *
 * What still runs is cancelled, its events are dropped, and threads that wait in a call on this
 * engine return SOTTO_ERROR_CANCELLED. NULL, and an engine destroyed before, are harmless. Where the
 * system keeps a thread of the idle class from running, the engine is left to that thread, which frees
 * its memory as soon as it runs; no hook is called after this has returned. An engine that has a backend of
 * the host's, shares a graphics card, records, or reads by `files` at present is waited for. A disk that
 * does not answer is waited for about a second, whatever was written to it.
 *
 * @param engine  The engine to end.
 *
 * @thread Any, except inside a hook.
 * @since  0.1
 */
SOTTO_API void SOTTO_CALL sotto_engine_destroy(sotto_engine* engine);

/**
 * Changes who comes first, from the next slice on. Never waits.
 *
 * @param engine  The engine.
 * @param mode    One of the modes.
 * @return SOTTO_OK or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_set_mode(sotto_engine* engine, sotto_mode mode);

/**
 * Changes the ceiling on what all models take together. Never waits.
 *
 * Nothing is taken above it from this call on. Is more in use already, models give way: those that
 * are idle at once, those that speak as far as their streams go on; see sotto/budget.h.
 *
 * @param engine  The engine.
 * @param bytes   The ceiling. 0: no limit.
 * @return SOTTO_OK or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_set_vram_budget(sotto_engine* engine, uint64_t bytes);

/**
 * Changes the pace at which each stream speaks, also of those under way. Never waits.
 *
 * @param engine  The engine.
 * @param tps     Tokens per second and stream, finite. 0: as fast as it goes.
 * @return SOTTO_OK or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_set_target_tps(sotto_engine* engine, float tps);

/**
 * Shares a card with a renderer, from now on. Waits for the driver, and for the modules where none was
 * opened yet: many frames, so do it while nothing moves.
 *
 * A context is made only where a backend is there that computes with CUDA, and SOTTO_GPU_RUNG_VULKAN is
 * taken only where one computes with Vulkan; else the rung is SOTTO_GPU_RUNG_CPU, which is no failure. A
 * backend of the host's has to be added before. Models that are loaded already and could be on the card,
 * as far as the backend that they were asked for with allows, move there when they are next idle. One that
 * its backend can't open on that card is opened beside it, on the engine's own device: `refused` of
 * sotto_engine_describe() says why.
 *
 * @param engine  The engine. It has no card yet, or was detached from it.
 * @param gpu     What is shared, copied. What it points at must live until the engine is detached.
 * @param rung    Out: how closely it is shared, SOTTO_GPU_RUNG_NONE on failure. NULL: nobody asks.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_STATE (a card is shared already),
 *         SOTTO_ERROR_UNSUPPORTED (not as closely as `least`) or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_attach_gpu(sotto_engine* engine, const sotto_gpu_desc* gpu, sotto_gpu_rung* rung);

/**
 * Ends the sharing of a card: before its queue or device goes, or when the device was lost. Waits for what
 * is under way there, a step or a model that is being loaded, and until all that is on the card is given
 * back; for nothing that is elsewhere. A step ends at its next gate, within about 100 ms where its thread
 * gets a core. The thread is put into the normal class for that; Linux refuses this to a process that has
 * neither CAP_SYS_NICE nor an RLIMIT_NICE of 20, and a step in the idle class then takes as long as other
 * threads keep every core busy: seconds, without a bound. Mode SOTTO_MODE_PRIORITIZE_COMPUTE has no such
 * steps.
 *
 * Characters stay: sessions remember what was said, and models that were on the card fall asleep, and come
 * back, on the processor or on the next card, when they are asked for. Answers under way on the card end
 * with SOTTO_ERROR_CANCELLED, and can be asked for again. Where two engines share one queue, both must be
 * detached before that goes.
 *
 * A device that is lost while models compute on it is seen without this call, where the backend can tell:
 * answers end with SOTTO_ERROR_DEVICE, models go on on the processor, and `device_lost` of
 * sotto_engine_describe() says why.
 *
 * @param engine  The engine.
 * @return SOTTO_OK, SOTTO_EMPTY (it shares none) or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any, except inside a hook.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_detach_gpu(sotto_engine* engine);

/**
 * Describes an engine: versions, device, processor tier, modules and why any was passed over.
 * Opens the modules if no model did so yet, and waits for that.
 *
 * Where a card is shared, `gpu` is an object (else null) with `rung` ("cig", "cuda", "vulkan", "cpu"),
 * `with` ("d3d12", "vulkan", "cuda"), `card` (its `name`, `uuid`, `luid`, `vram`, `capability`, or null),
 * `device` (as backends are told, on the rung "vulkan", else null), `driver` (the CUDA that it speaks, or
 * null), `shared_memory` (bytes that a kernel may have; 0: no limit of CiG's), `priority` (of streams, or
 * null), `not_taken`, a list of the rungs above with `rung` and `why`, `backends`, the names of those that
 * may compute there (empty: all models run beside the card), and `refused`, an object of models that their
 * backend could not open there, with the reasons.
 *
 * @param engine  The engine.
 * @param json    Out: one JSON object, or the empty string on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT or SOTTO_ERROR_MEMORY.
 *
 * @owner  The calling thread, until its next call that hands out JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_describe(sotto_engine* engine, sotto_str* json);

#ifdef __cplusplus
}
#endif
#endif
