/**
 * @file sotto/trace.h
 * What the engine computed, and when: for profilers, plots and bug reports.
 *
 *     desc.trace = 4096; // slices to remember between two reads
 *     ...
 *     sotto_slice slices[64];
 *     uint32_t    count;
 *     slices[0].struct_size = sizeof slices[0];
 *     while (sotto_engine_read_trace(engine, slices, 64, &count) == SOTTO_OK && count > 0) { ... }
 */
#ifndef SOTTO_TRACE_H
#define SOTTO_TRACE_H

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a slice was. */
typedef int32_t sotto_slice_kind;
enum {
    SOTTO_SLICE_OPEN   = 1, /**< A request was made ready: its template, its tokens, or a restored state. */
    SOTTO_SLICE_PROMPT = 2, /**< A step that worked through prompts; others may have spoken in it. */
    SOTTO_SLICE_DECODE = 3, /**< A step in which each stream spoke a token. */
    SOTTO_SLICE_GATE   = 4, /**< A wait inside a step for the game. Told before that step. */
    SOTTO_SLICE_FRAME  = 5, /**< Not ours: the game's work on a frame, as it was reported. */
    SOTTO_SLICE_REST   = 6  /**< No step ran, so that models keep to their share of the time. */
};

/** More about a slice. */
typedef uint32_t sotto_slice_flags;
enum {
    SOTTO_SLICE_TRIAL   = 1, /**< It ran on another number of threads than most, to compare the two. */
    SOTTO_SLICE_GAVE_UP = 2  /**< It stood still, was given up, and its work is done again. */
};

/**
 * One piece of the engine's work, over.
 *
 * @since 0.1
 */
typedef struct sotto_slice {
    uint32_t          struct_size;      /**< sizeof(sotto_slice). */
    sotto_slice_kind  kind;             /**< What it was. */
    uint64_t          begin_ns;         /**< When it began, on the system's monotonic clock. */
    uint64_t          end_ns;           /**< When it ended. */
    uint32_t          streams;          /**< How many it worked for. */
    uint32_t          prompt_tokens;    /**< Tokens of prompts that were worked through. */
    uint32_t          generated_tokens; /**< Tokens that were spoken. */
    uint32_t          threads;          /**< On how many threads. */
    sotto_mode        mode;             /**< The engine's when it began. */
    uint32_t          lost;             /**< Slices before it that found no room. */
    float             predicted_ms;     /**< What it was thought to take. 0: nothing was known. */
    float             limit_ms;         /**< What it was to keep within. 0: nothing. */
    float             share;            /**< Of the time that models might use, 0 to 1. */
    float             frame_phase;      /**< Where in the game's frame it began, 0 to 1. Below 0: none. */
    sotto_slice_flags flags;            /**< SOTTO_SLICE_TRIAL and the like. */
    uint32_t          decoded_tokens;   /**< Answer tokens decoded, draft tokens included. */
} sotto_slice;

/**
 * Hands out slices that were not read yet, oldest first. Never waits.
 *
 * An engine remembers as many as sotto_engine_desc.trace says. What then comes finds no room, and
 * the next slice that does says how many were lost.
 *
 * @param engine    The engine.
 * @param slices    Out: the slices. Set the first one's struct_size; it is that of each.
 * @param capacity  How many there is room for.
 * @param count     Out: how many were written. 0: none are left.
 * @return SOTTO_OK, SOTTO_ERROR_STATE where the engine keeps no trace, or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any. Threads that read at once share the slices between them.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_read_trace(sotto_engine* engine, sotto_slice* slices, uint32_t capacity, uint32_t* count);

/**
 * Takes the decisions of a recording again, see sotto_engine_desc.record: which streams each slice
 * was for, how much it did, on how many threads, how long models rested. Needs no model: what steps took
 * is in the recording. Waits for the file to be read. For bug reports, and to see what a change changes.
 *
 * @param path  The recording.
 * @param json  Out: an object with `decisions`, how many of them came out the `same`, the
 *              `first_difference` (null, or its line with what was recorded and what came out),
 *              `streams`, `models`, `frames`, `seconds`, `file`, the library's `version` then, and
 *              `cut`: the last line is not whole, and was left out. The empty string on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT (not a regular file, or not a recording; the line is named),
 *         SOTTO_ERROR_NOT_FOUND or SOTTO_ERROR_MEMORY.
 *
 * @owner  The calling thread, until its next call that hands out JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_replay(sotto_str path, sotto_str* json);

#ifdef __cplusplus
}
#endif
#endif
