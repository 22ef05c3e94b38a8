/**
 * @file sotto/frame.h
 * Telling the engine when the game works, so that models keep out of its way.
 *
 * The two calls bracket the game's work. What lies between an end and the next begin is slack.
 * Either alone is allowed, and so is neither: then models keep to the mode's share.
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
 * How a frame begins. Zero in a field is its default.
 *
 * @since 0.1
 */
typedef struct sotto_frame_begin_desc {
    uint32_t struct_size; /**< sizeof(sotto_frame_begin_desc). */
    uint32_t busy_cores;  /**< Cores the game keeps busy during its work. 0: one. */
    uint64_t period_ns;   /**< Time from one frame to the next that the game aims at. 0: not known. */
    uint64_t time_ns;     /**< When it began, on the system's monotonic clock. 0: now. */
} sotto_frame_begin_desc;

/**
 * How a frame's work ended. Zero in a field is its default.
 *
 * @since 0.1
 */
typedef struct sotto_frame_end_desc {
    uint32_t struct_size; /**< sizeof(sotto_frame_end_desc). */
    float    gpu_ms;      /**< What the frame took on the GPU. 0: not known. */
    float    busy_ms;     /**< What the frame's work took. 0: from begin to end. */
    uint32_t reserved;    /**< Must be 0. */
    uint64_t time_ns;     /**< When it ended, on the system's monotonic clock. 0: now. */
} sotto_frame_end_desc;

/**
 * Says that the game begins a frame. Never waits, never allocates.
 *
 * @param engine  The engine.
 * @param frame   How it begins. NULL: every default.
 * @return SOTTO_OK, SOTTO_ERROR_UNSUPPORTED or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_frame_begin(sotto_engine* engine, const sotto_frame_begin_desc* frame);

/**
 * Says that the game has done a frame's work. Never waits, never allocates.
 *
 * @param engine  The engine.
 * @param frame   How it ended. NULL: every default.
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
