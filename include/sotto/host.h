/**
 * @file sotto/host.h
 * What a host may lend the engine: a log, files, threads, a profiler, an account of memory.
 *
 * Each hook is a struct of functions and the pointer they all get back. An engine copies the
 * struct when it is created; what `self` points at must outlive the engine. Unless a function
 * says otherwise it may be called from any worker thread, from several at once, must not throw
 * or unwind, and must not call the engine.
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

/** How much a log line matters. */
typedef int32_t sotto_log_level;
enum {
    SOTTO_LOG_DEFAULT = 0, /**< What the variables SOTTO_LOG or RUST_LOG say at start, else SOTTO_LOG_WARN. */
    SOTTO_LOG_ERROR   = 1,
    SOTTO_LOG_WARN    = 2,
    SOTTO_LOG_INFO    = 3,
    SOTTO_LOG_DEBUG   = 4,
    SOTTO_LOG_TRACE   = 5
};

/** Takes one line, without a newline at its end. */
typedef void(SOTTO_CALL* sotto_log_fn)(void* self, sotto_log_level level, sotto_str message);

/**
 * Where an engine's log lines go. Without one: stderr.
 *
 * @since 0.1
 */
typedef struct sotto_log_sink {
    uint32_t     struct_size; /**< sizeof(sotto_log_sink). */
    uint32_t     reserved;    /**< Must be 0. */
    sotto_log_fn write;       /**< Required. */
    void*        self;        /**< First argument of the function above. */
} sotto_log_sink;

/**
 * Sets how much is logged, for the whole process. Never waits.
 *
 * @param level  SOTTO_LOG_DEFAULT to SOTTO_LOG_TRACE.
 * @return SOTTO_OK or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_log_set_level(sotto_log_level level);

/** Opens a file for reading. Out: `file`, `size` in bytes. Below zero: there is none. */
typedef sotto_status(SOTTO_CALL* sotto_file_open_fn)(void* self, sotto_str path, void** file, uint64_t* size);
/** Reads exactly `bytes` bytes from `offset`. Below zero: it could not. One thread at a time per file. */
typedef sotto_status(SOTTO_CALL* sotto_file_read_fn)(
    void* self, void* file, uint64_t offset, void* buffer, uint64_t bytes
);
/** Ends what open began. Destroying an engine waits for a function of these that is under way. */
typedef void(SOTTO_CALL* sotto_file_close_fn)(void* self, void* file);

/**
 * Reads models and saved states out of the host's own archives. Without one: the file system.
 *
 * @since 0.1
 */
typedef struct sotto_file_access {
    uint32_t            struct_size; /**< sizeof(sotto_file_access). */
    uint32_t            reserved;    /**< Must be 0. */
    sotto_file_open_fn  open;        /**< Required. */
    sotto_file_read_fn  read;        /**< Required. */
    sotto_file_close_fn close;       /**< Required. */
    void*               self;        /**< First argument of the functions above. */
} sotto_file_access;

/** What memory is for. */
typedef int32_t sotto_memory_kind;
enum {
    SOTTO_MEMORY_WEIGHTS = 1, /**< A model's weights. */
    SOTTO_MEMORY_KV      = 2, /**< What its streams remember. */
    SOTTO_MEMORY_COMPUTE = 3, /**< Its scratch buffers. */
    SOTTO_MEMORY_ADAPTER = 4, /**< What was added to its weights. */
    SOTTO_MEMORY_IMAGE   = 5, /**< What reads images and sounds for it. */
    SOTTO_MEMORY_STAGING = 6  /**< What its parked streams remember. */
};

/** Tells that `bytes` more (below zero: fewer) of `device` are taken for the model `model`. */
typedef void(SOTTO_CALL* sotto_memory_fn)(
    void* self, sotto_memory_kind kind, sotto_str device, sotto_str model, int64_t bytes
);

/**
 * Hears of each large block that the engine takes or gives back.
 *
 * @since 0.1
 */
typedef struct sotto_memory_report {
    uint32_t        struct_size; /**< sizeof(sotto_memory_report). */
    uint32_t        reserved;    /**< Must be 0. */
    sotto_memory_fn changed;     /**< Required. */
    void*           self;        /**< First argument of the function above. */
} sotto_memory_report;

/** Called first thing on each thread the engine starts. */
typedef void(SOTTO_CALL* sotto_thread_fn)(void* self, sotto_str name);

/**
 * How the engine may use the machine's cores.
 *
 * @since 0.1
 */
typedef struct sotto_threads {
    uint32_t        struct_size;     /**< sizeof(sotto_threads). */
    uint32_t        compute_threads; /**< Most threads of a step. 0: up to one per core, by throughput. */
    uint64_t        affinity;        /**< Bit i: compute threads may run on core i. 0: on any. */
    sotto_str       name;            /**< First part of each thread's name. Empty: "sotto". */
    sotto_thread_fn started;         /**< Optional. */
    void*           self;            /**< First argument of the function above. */
} sotto_threads;

/** A stretch of work begins on this thread. */
typedef void(SOTTO_CALL* sotto_zone_begin_fn)(void* self, sotto_str name);
/** The stretch that began last on this thread ends. */
typedef void(SOTTO_CALL* sotto_zone_end_fn)(void* self);

/**
 * Shows the engine's work in the host's profiler.
 *
 * @since 0.1
 */
typedef struct sotto_profiler {
    uint32_t            struct_size; /**< sizeof(sotto_profiler). */
    uint32_t            reserved;    /**< Must be 0. */
    sotto_zone_begin_fn zone_begin;  /**< Required. */
    sotto_zone_end_fn   zone_end;    /**< Required. */
    void*               self;        /**< First argument of the functions above. */
} sotto_profiler;

#ifdef __cplusplus
}
#endif
#endif
