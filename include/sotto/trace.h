/**
 * @file sotto/trace.h
 * The trace: one record per slice of work, for profilers, plots and bug reports.
 *
 *     desc.trace_capacity = 4096; // slices kept between two reads
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

/** What a slice records: a step, a wait at a gate, a frame of the game, or time without a step. */
typedef int32_t sotto_slice_kind;
enum {
    SOTTO_SLICE_OPEN =
        1, /**< Opened a stream: rendered the template, tokenized, or restored a saved state. */
    SOTTO_SLICE_PROMPT = 2, /**< A step that prefilled prompts; other streams may have decoded in it. */
    SOTTO_SLICE_DECODE = 3, /**< A step in which each stream decoded a token. */
    SOTTO_SLICE_GATE   = 4, /**< A wait for the game inside a step. Precedes the slice of that step. */
    SOTTO_SLICE_FRAME  = 5, /**< The game's work on a frame, as the game reported it. */
    SOTTO_SLICE_REST   = 6  /**< No step ran, so that models keep their duty cycle. */
};

/** Flags of a slice, as bit flags. */
typedef uint32_t sotto_slice_flags;
enum {
    SOTTO_SLICE_TRIAL   = 1, /**< Ran on another number of threads than usual, to compare the two. */
    SOTTO_SLICE_GAVE_UP = 2  /**< Stalled and was aborted; a later slice repeats its work. */
};

/**
 * Trace record of one finished slice: a backend step, the opening of a stream, a wait for the game, or the
 * game's work on a frame; see sotto_slice_kind.
 *
 * @since 0.1
 */
typedef struct sotto_slice {
    uint32_t         struct_size;      /**< sizeof(sotto_slice). */
    sotto_slice_kind kind;             /**< Kind of the slice. */
    uint64_t         begin_ns;         /**< Start, on the system's monotonic clock. */
    uint64_t         end_ns;           /**< End, on the same clock. */
    uint32_t         streams;          /**< Streams in the step. */
    uint32_t         prompt_tokens;    /**< Prompt tokens prefilled. */
    uint32_t         generated_tokens; /**< Tokens generated. */
    uint32_t         threads;          /**< Threads that computed it. */
    sotto_mode       mode;             /**< Scheduling mode when it started. */
    uint32_t         lost;             /**< Slices before it that were dropped because the trace was full. */
    float            predicted_ms;     /**< Predicted duration. 0: no prediction. */
    float            limit_ms;         /**< Time limit for the slice. 0: none. */
    float            share;            /**< Duty cycle in effect, 0 to 1. */
    float frame_phase;       /**< Position of its start in the game's frame, 0 to 1. Below 0: no frame. */
    sotto_slice_flags flags; /**< SOTTO_SLICE_TRIAL, SOTTO_SLICE_GAVE_UP. */
    uint32_t          decoded_tokens; /**< Answer tokens decoded, draft tokens included. */
} sotto_slice;

/**
 * Reads the slices that were not read yet, oldest first. Never waits.
 *
 * The engine keeps sotto_engine_desc.trace_capacity unread slices and drops newer ones while they are full;
 * the `lost` of the next slice kept counts the dropped ones.
 *
 * @param engine    The engine.
 * @param slices    Out: the slices. Set struct_size of the first element; it applies to all.
 * @param capacity  Number of elements of `slices`.
 * @param count     Out: number of slices written. 0: none are left.
 * @return SOTTO_OK, SOTTO_ERROR_STATE if trace_capacity is 0, or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any. Threads that read at the same time each get different slices.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_read_trace(sotto_engine* engine, sotto_slice* slices, uint32_t capacity, uint32_t* count);

/**
 * Replays the scheduling decisions of a recording (sotto_engine_desc.record_path): the streams of each slice,
 * its tokens, its threads, and how long models rested. Needs no model, because the recording holds the
 * measured step times. Waits until the file is read. Use it for bug reports, and to compare scheduler
 * changes.
 *
 * @param path  The recording.
 * @param json  Out: an object with `decisions` (number replayed), `same` (number with an equal result),
 *              `first_difference` (null, or the line with the recorded and the replayed decision), `streams`,
 *              `models`, `frames`, `seconds`, `file`, `version` (of the library that recorded), and `cut`
 *              (true if the last line was incomplete and was ignored). The empty string on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT (not a regular file, or not a recording; names the line),
 *         SOTTO_ERROR_NOT_FOUND or SOTTO_ERROR_MEMORY.
 *
 * @owner  The calling thread, until its next call that returns JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_replay(sotto_str path, sotto_str* json);

#ifdef __cplusplus
}
#endif
#endif
