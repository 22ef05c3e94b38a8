/**
 * @file sotto/store.h
 * A store of memories on disk: entries with text, metadata and embeddings, searched by meaning and by words.
 *
 *     sotto_store_desc desc = SOTTO_INIT(sotto_store_desc);
 *     desc.folder = (sotto_str){save_folder, SOTTO_NUL};
 *     desc.id     = (sotto_str){"lore", SOTTO_NUL};
 *     desc.dim    = 384;
 *     desc.flags  = SOTTO_STORE_CREATE;
 *     sotto_store_open(&desc, &store);
 *     sotto_store_insert(store, entries, vectors, 384 * count, &ids);
 *     sotto_store_query(store, (sotto_str){"{\"limit\": 5}", SOTTO_NUL}, vector, 384, &results);
 *
 * All calls on a store block: they wait for the disk and for other calls on the store. Call them from a
 * worker thread, never in a frame. A store needs no engine; an engine computes the embeddings.
 *
 * An entry is a JSON object. Only `value` or `key` is expected, the other fields have defaults:
 *
 *     {"id": "...",               // unique, at most 256 bytes; default: a random one
 *      "namespace": "mara",       // such as a character's name; default: ""
 *      "key": "...",              // title or trigger; searched as text, counts twice; at most 1 MB
 *      "value": "...",            // the memory; searched as text; at most 16 MB
 *      "embedding": [0.1, ...],   // `dim` numbers, not all 0; default: none
 *      "priority": 1.0,           // set by the game
 *      "importance": 0.5,         // 0 to 1
 *      "created_ms": 0,           // milliseconds since 1970, or of the game's own clock; default: now
 *      "accessed_ms": 0,          // default: created_ms
 *      "metadata": {...}}         // a JSON object, which filters read; at most 1 MB
 *
 * A filter is a JSON object, of which all parts must match an entry; {} matches all:
 *
 *     {"namespace": "mara",       // exactly this namespace; "" is the default one
 *      "key_contains": "gate",    // part of the key, compared without regard to case
 *      "where": {"place": "inn",  // metadata.place == "inn"
 *                "room.floor": {"gte": 1, "lt": 3},    // also eq, ne, gt, lte
 *                "mood": {"in": ["happy", "calm"]}}}
 *
 * A call that returns SOTTO_OK has reached the disk: neither the end of the process nor a power failure
 * loses it. A call that fails has changed nothing. A store that is open for writing is open once; other
 * processes get SOTTO_ERROR_BUSY, as does a child of fork() whose parent has the store open. With
 * SOTTO_STORE_READ_ONLY any number of processes read it.
 *
 * A store is the file `<id>.db`, a SQLite database, and files beside it whose names begin with `<id>.db-` or
 * `<id>.`; close it before you copy them, or use sotto_store_backup(). Statuses of all functions, beside
 * those named below: SOTTO_ERROR_ARGUMENT (invalid argument, or an invalid handle: closed, or of the parent
 * process of fork()), SOTTO_ERROR_STATE (the file is damaged, the disk is full, or the store cannot be
 * written) and SOTTO_ERROR_MEMORY.
 */
#ifndef SOTTO_STORE_H
#define SOTTO_STORE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An open store. */
typedef struct sotto_store sotto_store;

/** Flags of sotto_store_desc. */
typedef uint32_t sotto_store_flags;
enum {
    SOTTO_STORE_CREATE    = 1, /**< Creates the store if it does not exist. */
    SOTTO_STORE_READ_ONLY = 2  /**< Reads only. Several processes may read one store at once. */
};

/**
 * Describes a store to open. A zero field takes its default.
 *
 * @since 0.1
 */
typedef struct sotto_store_desc {
    uint32_t          struct_size; /**< sizeof(sotto_store_desc). */
    sotto_store_flags flags;       /**< SOTTO_STORE_ flags. */
    sotto_str         folder;      /**< Folder of the store's files. Created if need be. Required. */
    sotto_str         id;          /**< Name of the store, a plain file name of 1 to 100 bytes. Required. */
    uint32_t          dim;      /**< Numbers per embedding, up to 16,384. 0: as stored; a new store: none. */
    uint32_t          reserved; /**< Must be 0. */
} sotto_store_desc;

/**
 * Opens a store. Waits for the disk, and up to 2 seconds for another process that closes the store.
 *
 * Reads all embeddings into memory: `4 * dim` bytes for each entry.
 *
 * @param desc   The store, copied.
 * @param store  Out: the open store, or NULL on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT (an id that is not a plain file name), SOTTO_ERROR_NOT_FOUND,
 *         SOTTO_ERROR_BUSY (open elsewhere, or 256 stores are open), SOTTO_ERROR_STATE (other `dim`, damaged,
 *         not a store, not writable), SOTTO_ERROR_UNSUPPORTED (written by a newer version).
 *
 * @owner  The caller, who ends it with sotto_store_close().
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_store_open(const sotto_store_desc* desc, sotto_store** store);

/**
 * Closes a store. Waits for calls that are running on it, and for the disk.
 *
 * Does nothing for an invalid handle.
 *
 * @param store  The store. NULL: does nothing.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API void SOTTO_CALL sotto_store_close(sotto_store* store);

/**
 * Deletes all files of a store. Waits for the disk.
 *
 * @param folder  Folder of the store's files.
 * @param id      Name of the store.
 * @return SOTTO_OK, SOTTO_ERROR_NOT_FOUND or SOTTO_ERROR_BUSY (the store is open: close it first).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_store_delete(sotto_str folder, sotto_str id);

/**
 * Lists the ids of the stores in a folder, as a JSON array. Waits for the disk.
 *
 * @param folder  The folder. If it does not exist, it has no stores.
 * @param ids     Out: the JSON array, sorted. Copy it before the next call.
 * @return SOTTO_OK.
 *
 * @owner  `ids`: the calling thread, until its next call that returns JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_store_list_ids(sotto_str folder, sotto_str* ids);

/**
 * Describes a store: id, dim, entries, embeddings, generation, file_bytes, read_only. Waits for the disk.
 *
 * @param store  The store.
 * @param info   Out: the JSON object. Copy it before the next call.
 * @return SOTTO_OK.
 *
 * @owner  `info`: the calling thread, until its next call that returns JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_store_info(sotto_store* store, sotto_str* info);

/**
 * Inserts entries, all or none of them. Waits for the disk.
 *
 * @param store    The store.
 * @param entries  JSON array of entries, or {"entries": [...], "replace": true}: an entry takes the place of
 *                 the one with its id. Otherwise an id that exists fails with SOTTO_ERROR_STATE.
 * @param vectors  Embeddings of all entries in a row, instead of the field `embedding`. NULL: none.
 * @param count    Number of floats in `vectors`: `dim` times the number of entries.
 * @param ids      Out: JSON array of the entries' ids. NULL: not reported. Copy it before the next call.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT or SOTTO_ERROR_STATE (id exists, wrong number of values, read-only).
 *
 * @owner  `ids`: the calling thread, until its next call that returns JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_store_insert(sotto_store* store, sotto_str entries, const float* vectors, size_t count, sotto_str* ids);

/**
 * Changes fields of one entry; the others stay. Waits for the disk.
 *
 * @param store    The store.
 * @param id       Id of the entry.
 * @param changes  JSON object with fields of an entry but `id` and `created_ms`. Null removes `embedding`.
 * @return SOTTO_OK, SOTTO_ERROR_NOT_FOUND (no such entry) or SOTTO_ERROR_STATE.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_store_update(sotto_store* store, sotto_str id, sotto_str changes);

/**
 * Removes entries, by id or by filter. Waits for the disk.
 *
 * @param store    The store.
 * @param which    {"ids": [...]} or a filter. {} removes all entries.
 * @param removed  Out: number of entries removed. NULL: not reported.
 * @return SOTTO_OK or SOTTO_ERROR_STATE.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_store_remove(sotto_store* store, sotto_str which, uint64_t* removed);

/**
 * Reads one entry. Waits for the disk.
 *
 * @param store    The store.
 * @param id       Id of the entry.
 * @param options  {"with_embedding": true}, or empty.
 * @param entry    Out: the entry as JSON. Copy it before the next call.
 * @return SOTTO_OK or SOTTO_ERROR_NOT_FOUND (no such entry).
 *
 * @owner  `entry`: the calling thread, until its next call that returns JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_store_get(sotto_store* store, sotto_str id, sotto_str options, sotto_str* entry);

/**
 * Lists entries in the order of their insertion, page by page. Waits for the disk.
 *
 * @param store    The store.
 * @param options  A filter with `limit` (1 to 10,000; default 100), `after` (`next` of the page before) and
 *                 `with_embedding`. Empty: the first 100 entries.
 * @param page     Out: {"entries": [...], "next": position}; `next` is absent on the last page.
 * @return SOTTO_OK.
 *
 * @owner  `page`: the calling thread, until its next call that returns JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_store_list(sotto_store* store, sotto_str options, sotto_str* page);

/**
 * Counts the entries that match a filter. Waits for the disk.
 *
 * @param store   The store.
 * @param filter  The filter. Empty: counts all entries.
 * @param count   Out: the number.
 * @return SOTTO_OK.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_store_count(sotto_store* store, sotto_str filter, uint64_t* count);

/**
 * Finds entries by embedding, by words, or by both. Waits for the disk.
 *
 * `query` is a filter with these fields, all optional:
 *
 *     {"embedding": [...], "text": "who lost a ring", "limit": 10,
 *      "candidates": 64,        // of each search; default: 4 * limit, at least 64
 *      "prefilter": true,       // false: filters the candidates instead of what is searched
 *      "weights": {"relevance": 1, "priority": 0, "recency": 0, "importance": 0},
 *      "half_life_s": 86400, "now_ms": 0, "touch": false, "with_embedding": false}
 *
 * Result: a JSON array of entries, best first, each with `score`, `relevance`, `recency`, and, where they
 * apply, `similarity` (cosine) and `text_score` (BM25). `score` is the mean of relevance, priority, recency
 * and importance by their weights. `relevance` is the cosine if only an embedding is given, the BM25 score as
 * a fraction of the best one if only text is; with both, reciprocal rank fusion: the sum of 1 / (60 + rank)
 * over the two searches, as a fraction of 2 / 61. `recency` is 1 for an entry that was accessed at `now_ms`
 * and halves every `half_life_s` seconds. Without embedding and text, the candidates are the entries accessed
 * last. `touch` sets `accessed_ms` of the results to `now_ms`.
 *
 * @param store    The store.
 * @param query    The query. Empty: {}.
 * @param vector   The embedding, instead of the field `embedding`. NULL: none.
 * @param count    Number of floats in `vector`.
 * @param results  Out: the JSON array. Copy it before the next call.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT or SOTTO_ERROR_STATE (wrong number of values).
 *
 * @owner  `results`: the calling thread, until its next call that returns JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_store_query(sotto_store* store, sotto_str query, const float* vector, size_t count, sotto_str* results);

#ifdef __cplusplus
}
#endif
#endif
