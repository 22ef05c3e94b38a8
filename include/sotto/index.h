/**
 * @file sotto/index.h
 * Vector index: finds the vectors nearest to a query by cosine distance. Needs no engine and no model.
 *
 *     sotto_index_desc desc = SOTTO_INIT(sotto_index_desc);
 *     desc.dim = 384;
 *     sotto_index* index;
 *     sotto_index_create(&desc, &index);
 *     sotto_index_insert(index, vectors, 384, labels, count);
 *     sotto_index_build(index, NULL);
 *
 *     sotto_search_desc nearest = SOTTO_INIT(sotto_search_desc); // index_search.h
 *     nearest.k = 5;
 *     uint64_t found[5];
 *     float    distances[5];
 *     uint32_t matches;
 *     sotto_index_search(index, &nearest, query, 384, found, distances, &matches);
 *
 * The index is an HNSW graph: searches are approximate, and exact if the index has at most `ef` vectors. A
 * vector is an array of `dim` floats, finite and not all 0; its length does not matter. Each vector has a
 * unique label, any 64-bit number that the host chooses.
 *
 * A new index is unbuilt: sotto_index_insert() only stores vectors, and sotto_index_search() returns
 * SOTTO_ERROR_STATE. sotto_index_build() links the stored vectors into the graph, with several threads if the
 * host allows that. After the build, an inserted vector is linked at once, and the next search finds it; no
 * further build is needed. An index that is built while empty links each vector as it is inserted.
 *
 * Any thread may call any function on an index. Searches never wait for other calls on the index. Insertions,
 * updates, removals, builds and saves wait for each other; a batch is inserted vector by vector, so that a
 * search during the call finds some of them. A removed vector keeps its memory in the index.
 */
#ifndef SOTTO_INDEX_H
#define SOTTO_INDEX_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Handle of a vector index. Calls on NULL, on a destroyed index and in a forked child return an error. */
typedef struct sotto_index sotto_index;

/** How an index stores vectors. */
typedef int32_t sotto_index_storage;
enum {
    SOTTO_INDEX_F32 = 0, /**< 4 bytes per dimension. */
    SOTTO_INDEX_F16 = 1, /**< 2 bytes per dimension; distances are off by at most about 0.001. */
    SOTTO_INDEX_I8  = 2  /**< 1 byte per dimension; distances are off by about 0.01. */
};

/** How an index measures distance. */
typedef int32_t sotto_index_metric;
enum {
    SOTTO_INDEX_COSINE = 0 /**< 1 - cosine of the angle: 0, same direction, to 2, opposite direction. */
};

/**
 * Describes an index to create. A zero field other than `dim` takes its default.
 *
 * @since 0.1
 */
typedef struct sotto_index_desc {
    uint32_t            struct_size;     /**< sizeof(sotto_index_desc). */
    uint32_t            dim;             /**< Dimensions of a vector, 1 to 16,384. Required. */
    uint64_t            max_elements;    /**< Maximum number of vectors, at most 2^30. 0: no limit. */
    uint64_t            seed;            /**< Seed of the graph's random layers. */
    sotto_index_storage storage;         /**< Storage of vectors. */
    sotto_index_metric  metric;          /**< SOTTO_INDEX_COSINE. */
    uint32_t            m;               /**< Links per vector, 2 to 128. 0: 16. */
    uint32_t            ef_construction; /**< Candidates per insertion, 1 to 65,536. 0: 200. */
} sotto_index_desc;

/**
 * Creates an empty index. Never waits.
 *
 * @param desc   The index, copied.
 * @param index  Out: the index, or NULL on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY (4,096 indexes are live) or SOTTO_ERROR_MEMORY.
 *
 * @owner  The caller: sotto_index_destroy().
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_index_create(const sotto_index_desc* desc, sotto_index** index);

/**
 * Destroys an index. Waits for calls on the index that are running.
 *
 * @param index  The index. NULL, a destroyed index and an index of a parent process are ignored.
 *
 * @thread Any, but not in a callback of the same index.
 * @since  0.1
 */
SOTTO_API void SOTTO_CALL sotto_index_destroy(sotto_index* index);

/**
 * Inserts vectors. Waits for other calls that change the index.
 *
 * Checks all vectors before it inserts the first. Takes about a millisecond per vector after
 * sotto_index_build(), some microseconds before.
 *
 * @param index    The index.
 * @param vectors  `count` x `dim` floats, read during the call.
 * @param dim      Floats per vector: the dimensions of the index.
 * @param labels   `count` labels, none of which the index has.
 * @param count    Number of vectors.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT (a wrong `dim`, a zero vector, a value that is not finite, a label
 *         that the index has or that occurs twice; the message names the position), SOTTO_ERROR_BUSY (more
 *         than `max_elements`) or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_index_insert(
    sotto_index* index, const float* vectors, uint32_t dim, const uint64_t* labels, uint64_t count
);

/**
 * Replaces the vector of a label. Waits for other calls that change the index.
 *
 * A search during the call may miss the label.
 *
 * @param index   The index.
 * @param vector  `dim` floats, read during the call.
 * @param dim     Floats of the vector: the dimensions of the index.
 * @param label   The label.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_NOT_FOUND (no such label) or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_index_update(sotto_index* index, const float* vector, uint32_t dim, uint64_t label);

/**
 * Removes a label and its vector. Waits for other calls that change the index.
 *
 * Searches that begin later do not return the label.
 *
 * @param index  The index.
 * @param label  The label.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT or SOTTO_ERROR_NOT_FOUND (no such label).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_index_remove(sotto_index* index, uint64_t label);

/** Reports the progress of a build. Returns nonzero to stop the build. Must not use the index: it would wait
 * for itself. */
typedef int32_t(SOTTO_CALL* sotto_index_progress_fn)(void* self, uint64_t done, uint64_t total);

/**
 * Describes a build. A zero field takes its default.
 *
 * @since 0.1
 */
typedef struct sotto_build_desc {
    uint32_t                struct_size; /**< sizeof(sotto_build_desc). */
    uint32_t                threads;     /**< Threads, at most 256. 0: one, the calling thread. */
    sotto_index_progress_fn progress;    /**< Called every 20 ms on the calling thread. NULL: no callback. */
    void*                   self;        /**< First argument of the callback. */
} sotto_build_desc;

/**
 * Links the vectors that were inserted before into the graph. Waits for other calls that change the index.
 *
 * Does nothing if all vectors are linked.
 *
 * With one thread, the same vectors, options and seed give the same graph.
 *
 * @param index  The index.
 * @param desc   The build. NULL: the defaults.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_CANCELLED (stopped by `progress`; another build
 *         continues where this one stopped) or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_index_build(sotto_index* index, const sotto_build_desc* desc);

/**
 * What an index is and holds.
 *
 * @since 0.1
 */
typedef struct sotto_index_info {
    uint32_t            struct_size;     /**< sizeof(sotto_index_info). */
    uint32_t            dim;             /**< Dimensions of a vector. */
    uint64_t            size;            /**< Number of vectors. */
    uint64_t            max_elements;    /**< Maximum number of vectors. 0: no limit. */
    uint64_t            memory;          /**< Bytes of host memory, without mapped files. */
    uint64_t            seed;            /**< Seed of the graph's random layers. */
    sotto_index_storage storage;         /**< Storage of vectors. */
    int32_t             built;           /**< 1 if the index can be searched, else 0. */
    uint32_t            m;               /**< Links per vector. */
    uint32_t            ef_construction; /**< Candidates per insertion. */
} sotto_index_info;

/**
 * Reports what an index is and holds. Never waits.
 *
 * @param index  The index.
 * @param info   Out: filled; set struct_size before the call.
 * @return SOTTO_OK or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_index_get_info(sotto_index* index, sotto_index_info* info);

/**
 * Reports whether an index has a label. Never waits.
 *
 * @param index  The index.
 * @param label  The label.
 * @param found  Out: 1 if the index has the label, else 0.
 * @return SOTTO_OK or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_index_contains(sotto_index* index, uint64_t label, int32_t* found);

/** Flags of sotto_index_load(). */
typedef uint32_t sotto_index_flags;
enum {
    SOTTO_INDEX_MAPPED = 1 /**< Leaves the vectors in the file, which is mapped, instead of in memory. */
};

/**
 * Writes an index to a file, built or not. Waits for other calls that change the index; searches go on.
 *
 * Replaces the file atomically: a reader sees the old file or the new one. Needs no second copy in memory.
 *
 * @param index  The index.
 * @param path   Path of the file.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_STATE (the file cannot be written; the old file
 * remains) or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_index_save(sotto_index* index, sotto_str path);

/**
 * Reads an index from a file of sotto_index_save(). Waits for the disk: the whole file is read and checked.
 *
 * With SOTTO_INDEX_MAPPED, the file must not be written to until the index is destroyed; sotto_index_save()
 * may replace it, and deleting it is allowed except on Windows. The index can be changed; changes are kept in
 * memory.
 *
 * @param path   Path of the file.
 * @param flags  SOTTO_INDEX_MAPPED or 0.
 * @param index  Out: the index, or NULL on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_UNSUPPORTED (unknown flags), SOTTO_ERROR_NOT_FOUND (the
 * file cannot be opened), SOTTO_ERROR_STATE (not an index, truncated, damaged or of a newer version),
 *         SOTTO_ERROR_BUSY (4,096 indexes are live) or SOTTO_ERROR_MEMORY.
 *
 * @owner  The caller: sotto_index_destroy().
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_index_load(sotto_str path, sotto_index_flags flags, sotto_index** index);

#ifdef __cplusplus
}
#endif
#endif
