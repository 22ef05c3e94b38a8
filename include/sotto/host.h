/**
 * @file sotto/host.h
 * Callbacks that a host passes to an engine: logging, file access, memory reports, threads, profiler.
 *
 * Each struct holds callbacks and `self`, the first argument of each callback. The engine copies
 * the struct in sotto_engine_create(); the object behind `self` must outlive the engine. Unless
 * documented otherwise, a callback may be called from any worker thread, from several threads at
 * once, must not throw or unwind, and must not call the engine.
 *
 *     static void SOTTO_CALL write_line(void* self, sotto_log_level level, sotto_str message);
 *
 *     sotto_log_sink log = SOTTO_INIT(sotto_log_sink);
 *     log.write = write_line;
 *     sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
 *     desc.log = &log;
 */
#ifndef SOTTO_HOST_H
#define SOTTO_HOST_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Log level: a message is logged if its level is at most the level that is set. */
typedef int32_t sotto_log_level;
enum {
    SOTTO_LOG_DEFAULT = 0, /**< SOTTO_LOG, then RUST_LOG, read at start; else SOTTO_LOG_WARN. */
    SOTTO_LOG_ERROR   = 1,
    SOTTO_LOG_WARN    = 2,
    SOTTO_LOG_INFO    = 3,
    SOTTO_LOG_DEBUG   = 4,
    SOTTO_LOG_TRACE   = 5
};

/** Receives one log line, without a trailing newline. */
typedef void(SOTTO_CALL* sotto_log_fn)(void* self, sotto_log_level level, sotto_str message);

/**
 * Receives an engine's log lines. Default: stderr.
 *
 * @since 0.1
 */
typedef struct sotto_log_sink {
    uint32_t     struct_size; /**< sizeof(sotto_log_sink). */
    uint32_t     reserved;    /**< Must be 0. */
    sotto_log_fn write;       /**< Required. */
    void*        self;        /**< First argument of the callback. */
} sotto_log_sink;

/**
 * Sets the log level of the whole process. Never waits.
 *
 * @param level  SOTTO_LOG_DEFAULT to SOTTO_LOG_TRACE.
 * @return SOTTO_OK or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_log_set_level(sotto_log_level level);

/** Opens a file for reading. Out: `file`, `size` in bytes. Returns a negative status on failure. */
typedef sotto_status(SOTTO_CALL* sotto_file_open_fn)(void* self, sotto_str path, void** file, uint64_t* size);
/** Reads exactly `bytes` bytes at `offset`, else returns a negative status. One thread at a time per file. */
typedef sotto_status(SOTTO_CALL* sotto_file_read_fn)(
    void* self, void* file, uint64_t offset, void* buffer, uint64_t bytes
);
/** Closes an opened file. sotto_engine_destroy() waits for a running open, read or close callback. */
typedef void(SOTTO_CALL* sotto_file_close_fn)(void* self, void* file);

/**
 * Reads models and saved states through the host, for example from archives. Default: the file system.
 *
 * @since 0.1
 */
typedef struct sotto_file_access {
    uint32_t            struct_size; /**< sizeof(sotto_file_access). */
    uint32_t            reserved;    /**< Must be 0. */
    sotto_file_open_fn  open;        /**< Required. */
    sotto_file_read_fn  read;        /**< Required. */
    sotto_file_close_fn close;       /**< Required. */
    void*               self;        /**< First argument of the callbacks. */
} sotto_file_access;

/** Use of a memory block. */
typedef int32_t sotto_memory_kind;
enum {
    SOTTO_MEMORY_WEIGHTS    = 1, /**< A model's weights. */
    SOTTO_MEMORY_KV         = 2, /**< KV cache of a model's streams. */
    SOTTO_MEMORY_COMPUTE    = 3, /**< A model's compute buffers. */
    SOTTO_MEMORY_ADAPTER    = 4, /**< A model's adapters, such as LoRA. */
    SOTTO_MEMORY_IMAGE      = 5, /**< A model's encoder for images and audio. */
    SOTTO_MEMORY_SPILLED_KV = 6  /**< Spilled KV cache of a model's parked streams. */
};

/** Reports that the memory of `model` on `device` grew by `bytes` (negative: shrank). */
typedef void(SOTTO_CALL* sotto_memory_fn)(
    void* self, sotto_memory_kind kind, sotto_str device, sotto_str model, int64_t bytes
);

/**
 * Reports each large block that the engine allocates or frees.
 *
 * @since 0.1
 */
typedef struct sotto_memory_report {
    uint32_t        struct_size; /**< sizeof(sotto_memory_report). */
    uint32_t        reserved;    /**< Must be 0. */
    sotto_memory_fn changed;     /**< Required. */
    void*           self;        /**< First argument of the callback. */
} sotto_memory_report;

/** Runs at the start of each thread that the engine creates. */
typedef void(SOTTO_CALL* sotto_thread_fn)(void* self, sotto_str name);

/**
 * Configures the engine's threads. A zero field selects the default.
 *
 * @since 0.1
 */
typedef struct sotto_threads {
    uint32_t struct_size;     /**< sizeof(sotto_threads). */
    uint32_t compute_threads; /**< Maximum threads per step. 0: at most one per core, tuned for throughput. */
    /**
     * Cores that compute threads may run on: core i is bit i % 64 of word i / 64. On Windows, word i is
     * processor group i, and threads run in the first group with a bit set. NULL: all cores.
     */
    const uint64_t* affinity;
    uint32_t        affinity_words; /**< Number of words of `affinity`, at most 16. */
    uint32_t        reserved;       /**< Must be 0. */
    sotto_str       name;           /**< Prefix of each thread's name. Empty: "sotto". */
    sotto_thread_fn started;        /**< NULL: no callback. */
    void*           self;           /**< First argument of the callback. */
} sotto_threads;

/** Begins a profiler zone on the calling thread. */
typedef void(SOTTO_CALL* sotto_zone_begin_fn)(void* self, sotto_str name);
/** Ends the innermost open zone of the calling thread. */
typedef void(SOTTO_CALL* sotto_zone_end_fn)(void* self);

/**
 * Reports the engine's work to the host's profiler as nested zones.
 *
 * @since 0.1
 */
typedef struct sotto_profiler {
    uint32_t            struct_size; /**< sizeof(sotto_profiler). */
    uint32_t            reserved;    /**< Must be 0. */
    sotto_zone_begin_fn zone_begin;  /**< Required. */
    sotto_zone_end_fn   zone_end;    /**< Required. */
    void*               self;        /**< First argument of the callbacks. */
} sotto_profiler;

#ifdef __cplusplus
}
#endif
#endif
