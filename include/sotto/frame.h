/**
 * @file sotto/frame.h
 * Reports frame timing to the engine, so that models run in the time that the game leaves free.
 *
 * The two calls bracket the game's work on a frame. The time from an end to the next begin is slack.
 * A game may use only one of the two calls, or neither; without frame reports, models use the share
 * of the cores that the engine's mode gives them.
 *
 *     sotto_frame_begin_desc frame = SOTTO_INIT(sotto_frame_begin_desc);
 *     frame.busy_cores = 1;
 *     for (;;) {
 *         sotto_engine_frame_begin(engine, &frame);
 *         ... drain events, update, render ...
 *         sotto_engine_frame_end(engine, NULL);
 *     }
 */
#ifndef SOTTO_FRAME_H
#define SOTTO_FRAME_H

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Start of a frame. A zero field selects the default.
 *
 * @since 0.1
 */
typedef struct sotto_frame_begin_desc {
    uint32_t struct_size; /**< sizeof(sotto_frame_begin_desc). */
    uint32_t busy_cores;  /**< Cores that the game keeps busy during its work. 0: one. */
    uint64_t period_ns;   /**< Target time from one frame to the next, in ns. 0: unknown. */
    uint64_t time_ns;     /**< Start on the system's monotonic clock, in ns. 0, or in the future: now. */
} sotto_frame_begin_desc;

/**
 * End of the game's work on a frame. A zero field selects the default.
 *
 * @since 0.1
 */
typedef struct sotto_frame_end_desc {
    uint32_t struct_size; /**< sizeof(sotto_frame_end_desc). */
    float    gpu_ms;      /**< GPU time of the frame, in ms. 0: unknown. */
    float    busy_ms;     /**< CPU time of the frame's work, in ms. 0: from begin to end. */
    uint32_t reserved;    /**< Must be 0. */
    uint64_t time_ns;     /**< End on the system's monotonic clock, in ns. 0, or in the future: now. */
} sotto_frame_end_desc;

/**
 * Marks the start of a frame. Never waits, never allocates.
 *
 * @param engine  The engine.
 * @param frame   Timing of the start. NULL: defaults.
 * @return SOTTO_OK, SOTTO_ERROR_UNSUPPORTED or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_frame_begin(sotto_engine* engine, const sotto_frame_begin_desc* frame);

/**
 * Marks the end of the game's work on a frame. Never waits, never allocates.
 *
 * @param engine  The engine.
 * @param frame   Timing of the end. NULL: defaults.
 * @return SOTTO_OK, SOTTO_ERROR_UNSUPPORTED or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_frame_end(sotto_engine* engine, const sotto_frame_end_desc* frame);

#ifdef __cplusplus
}
#endif
#endif
