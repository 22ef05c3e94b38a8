/**
 * @file sotto/stats.h
 * Statistics of an engine, for overlays, dashboards and tests.
 */
#ifndef SOTTO_STATS_H
#define SOTTO_STATS_H

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Statistics of an engine. Figures of the last second cover the slices (scheduled backend steps) and the
 * game's frames that ended in it.
 *
 * @since 0.1
 */
typedef struct sotto_stats {
    uint32_t   struct_size;       /**< In: sizeof(sotto_stats). */
    sotto_mode mode;              /**< The engine's scheduling mode. */
    uint32_t   live;              /**< Requests that have not ended. */
    uint32_t   waiting;           /**< Answers that wait for a slot of their model. */
    uint32_t   prefilling;        /**< Answers whose prompt is being prefilled. */
    uint32_t   decoding;          /**< Answers that are generating tokens. */
    uint32_t   parked;            /**< Started answers whose slot was preempted. */
    uint32_t   threads;           /**< Threads per step. */
    float      share;             /**< Duty cycle: share of time that models may compute now, 0 to 1. */
    float      busy;              /**< Share of the last second in which models computed, 0 to 1. */
    float      tokens_per_s;      /**< Tokens generated in the last second, by all streams. */
    float      prompt_per_s;      /**< Prompt tokens prefilled in the last second. */
    float      queue_wait_max_ms; /**< Longest time that a waiting answer has queued so far. */
    float      ttft_mean_ms;      /**< Time to first token: mean of the last 32 answers. */
    float      step_p99_ms;       /**< p99 step time over the last 256 steps. */
    float    frame_p50_ms; /**< Median of the game's work per frame over the last 128 frames. 0: no frames. */
    float    frame_p95_ms; /**< p95 of the same. */
    float    frame_p99_ms; /**< p99 of the same. */
    uint64_t frames;       /**< Frames that the game reported. */
    uint64_t frames_missed;        /**< Frames whose work took longer than their period. */
    uint64_t finished;             /**< Requests that ended with SOTTO_OK. */
    uint64_t failed;               /**< Requests that ended with another status, cancelled ones excepted. */
    uint64_t cancelled;            /**< Requests that ended with SOTTO_ERROR_CANCELLED. */
    uint64_t completion_tokens;    /**< Tokens generated since the engine was created. */
    uint64_t prompt_tokens;        /**< Prompt tokens prefilled since then. */
    uint64_t cached_prompt_tokens; /**< Prompt tokens reused from the prefix cache since then. */
    uint64_t slices;               /**< Slices (scheduled backend steps) since then. */
    uint64_t slice_ns;             /**< Total time of those slices. */
    uint64_t gated_ns;             /**< Part of slice_ns spent waiting at gates for the game. */
    uint64_t bytes_in_use;         /**< Bytes in use by all models. */
    uint64_t vram_budget;          /**< Budget for bytes_in_use. 0: no limit. */
    uint64_t bytes_peak;           /**< Highest value that bytes_in_use has had. */
    uint64_t bytes_weights;        /**< Bytes of weights. */
    uint64_t bytes_kv;             /**< Bytes of KV caches. */
    uint64_t bytes_compute;        /**< Bytes of scratch buffers. */
    uint64_t bytes_parked;         /**< Bytes of spilled KV caches that are in memory. */
    uint32_t models_evicted;       /**< Models that were evicted; the next request for one reloads it. */
    uint32_t reserved;             /**< 0. */
    uint64_t slice_streams;        /**< Streams in all slices; divided by `slices`, the mean batch. */
    uint64_t draft_tokens;         /**< Draft tokens that speculation proposed. */
    uint64_t draft_accepted;       /**< Draft tokens that the model accepted. */
    uint64_t draft_steps;          /**< Steps that checked draft tokens, one for each stream in a slice. */
} sotto_stats;

/**
 * Reads an engine's statistics, which are updated at least ten times a second while it works.
 * Never waits, never allocates.
 *
 * @param engine  The engine.
 * @param stats   In: struct_size. Out: the statistics.
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
