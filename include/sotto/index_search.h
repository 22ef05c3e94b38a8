/**
 * @file sotto/index_search.h
 * Searches of a vector index (sotto/index.h).
 *
 * `ef` trades time for recall: a search keeps the `ef` nearest vectors that it has seen as candidates. With
 * the default of 64, typical embeddings reach a recall of 0.95 and more at k = 10.
 *
 * A search may be limited to some labels, by a list, a callback or both. A search through a short list
 * compares the query with each vector of the list and is exact. A filter that accepts few of many vectors
 * makes a search slower, because it continues until it has found `ef` accepted vectors or has seen all.
 */
#ifndef SOTTO_INDEX_SEARCH_H
#define SOTTO_INDEX_SEARCH_H

#include "index.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Decides whether a search may return a label. Returns nonzero to accept. */
typedef int32_t(SOTTO_CALL* sotto_index_filter_fn)(void* self, uint64_t label);

/**
 * Describes a search. A zero field takes its default.
 *
 * @since 0.1
 */
typedef struct sotto_search_desc {
    uint32_t              struct_size;   /**< sizeof(sotto_search_desc). */
    uint32_t              k;             /**< Matches wanted. 0: none. */
    uint32_t              ef;            /**< Candidates kept, at least k: more is more exact. 0: 64. */
    uint32_t              reserved;      /**< Must be 0. */
    const uint64_t*       allowed;       /**< Labels that may be returned. NULL: all. */
    uint64_t              allowed_count; /**< Number of `allowed` labels; others of them are ignored. */
    sotto_index_filter_fn filter;        /**< Called on the calling thread. NULL: no filter. */
    void*                 self;          /**< First argument of the callback. */
} sotto_search_desc;

/**
 * Finds the labels nearest to a query, nearest first. Never waits.
 *
 * @param index      The index.
 * @param desc       The search.
 * @param query      `dim` floats, read during the call.
 * @param dim        Floats of the query: the dimensions of the index.
 * @param labels     Out: room for desc->k labels.
 * @param distances  Out: room for desc->k cosine distances, ascending. NULL: not reported.
 * @param count      Out: number of matches, at most desc->k; 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_STATE (not built) or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_index_search(
    sotto_index*             index,
    const sotto_search_desc* desc,
    const float*             query,
    uint32_t                 dim,
    uint64_t*                labels,
    float*                   distances,
    uint32_t*                count
);

/**
 * Searches for several queries, one after the other, with one description. Never waits.
 *
 * @param index      The index.
 * @param desc       The searches.
 * @param queries    `count` x `dim` floats, read during the call.
 * @param dim        Floats per query: the dimensions of the index.
 * @param count      Number of queries.
 * @param labels     Out: room for `count` x desc->k labels; those of query i begin at i * desc->k.
 * @param distances  Out: room for as many distances. NULL: not reported.
 * @param counts     Out: number of matches of each query.
 * @return As sotto_index_search().
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_index_search_batch(
    sotto_index*             index,
    const sotto_search_desc* desc,
    const float*             queries,
    uint32_t                 dim,
    uint64_t                 count,
    uint64_t*                labels,
    float*                   distances,
    uint32_t*                counts
);

#ifdef __cplusplus
}
#endif
#endif
