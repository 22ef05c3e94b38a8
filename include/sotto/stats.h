/**
 * @file sotto/stats.h
 * How an engine does: for overlays, dashboards and tests.
 */
#ifndef SOTTO_STATS_H
#define SOTTO_STATS_H

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * An engine's figures. Those of the last second cover whole slices and frames that ended in it.
 *
 * @since 0.1
 */
typedef struct sotto_stats {
    uint32_t   struct_size;   /**< In: sizeof(sotto_stats). */
    sotto_mode mode;          /**< Who comes first. */
    uint32_t   live;          /**< Requests that are not over. */
    uint32_t   waiting;       /**< Answers that wait for a model to have room. */
    uint32_t   prompting;     /**< Answers whose prompt is being worked through. */
    uint32_t   speaking;      /**< Answers under way. */
    uint32_t   parked;        /**< Answers that were begun, and gave up their place to others. */
    uint32_t   threads;       /**< On how many threads steps are taken. */
    float      share;         /**< Of the time that models may use at present, 0 to 1. */
    float      busy;          /**< Of the last second, in which they computed, 0 to 1. */
    float      tokens_per_s;  /**< Spoken in the last second, by all together. */
    float      prompt_per_s;  /**< Tokens of prompts that were worked through in the last second. */
    float      longest_ms;    /**< How long the first of those that wait has waited. */
    float      first_ms;      /**< From submission to first token: the mean of the last 32 answers. */
    float      slice_ms;      /**< What a step takes: the 99th of 100, of the last 256. */
    float      frame_p50_ms;  /**< The game's work on a frame, median of the last 128. 0: no frames. */
    float      frame_p95_ms;  /**< The 95th of 100. */
    float      frame_p99_ms;  /**< The 99th of 100. */
    uint64_t   frames;        /**< Frames that were reported. */
    uint64_t   frames_missed; /**< Those whose work took longer than their period. */
    uint64_t   finished;      /**< Requests that ended with SOTTO_OK. */
    uint64_t   failed;        /**< Those that ended otherwise, but for the next. */
    uint64_t   cancelled;     /**< Those that ended with SOTTO_ERROR_CANCELLED. */
    uint64_t   generated;     /**< Tokens spoken. */
    uint64_t   prompt;        /**< Tokens of prompts that were worked through. */
    uint64_t   cached;        /**< Tokens of prompts that were remembered. */
    uint64_t   slices;        /**< Pieces of work done. */
    uint64_t   slice_ns;      /**< What they took. */
    uint64_t   gated_ns;      /**< How much of that they waited for the game. */
    uint64_t   bytes_in_use;  /**< Of all models together. */
    uint64_t   vram_budget;   /**< The ceiling on those. 0: none. */
    uint64_t   bytes_peak;    /**< The most there ever were. */
    uint64_t   bytes_weights; /**< Of weights. */
    uint64_t   bytes_kv;      /**< Of what streams remember. */
    uint64_t   bytes_compute; /**< Of scratch buffers. */
    uint64_t   bytes_parked;  /**< Of what parked streams and sessions remember, as far as it is in memory. */
    uint32_t   asleep;        /**< Models that were freed for lack of room, until they are asked for. */
    uint32_t   reserved;      /**< 0. */
} sotto_stats;

/**
 * Tells an engine's figures, which are brought up to date at least ten times a second while it works.
 * Never waits, never allocates.
 *
 * @param engine  The engine.
 * @param stats   In: struct_size. Out: the figures.
 * @return SOTTO_OK or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_stats(sotto_engine* engine, sotto_stats* stats);

#ifdef __cplusplus
}
#endif
#endif
