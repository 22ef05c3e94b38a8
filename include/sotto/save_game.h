/**
 * @file sotto/save_game.h
 * Save games: all conversations of an engine in one file.
 *
 *     sotto_str path = {"saves/slot1.sotto", SOTTO_NUL};
 *     sotto_engine_save_game(engine, path, 0, &request);    // its events follow, as of any request
 *     sotto_engine_restore_game(engine, path, 0, &request); // in another process, after loading the models
 *
 * A save game holds every open session (messages, model, pinned, adapters), every stored response of
 * SOTTO_OP_RESPOND, and the KV cache of sessions whose cache is parked in memory. The KV cache fits one
 * model, library version and KV type; anywhere else, and if it is missing, the next turn prefills the
 * session's text. Answers in progress are not part of it: a turn belongs to its session once its answer is
 * complete. With sotto_engine_submit() and the field `files`, a save game also holds files of the game, such
 * as backups of stores (see store_backup.h), so that memories and conversations are saved together.
 *
 * Both functions submit a request and return at once; a file thread writes or reads, in pieces, while the
 * game and the characters go on. The file is written atomically, for the current user only: after a crash or
 * a full disk, the earlier file is whole. Every part has a checksum; a file that was cut off or changed, and
 * one of a newer format, is refused and changes nothing.
 */
#ifndef SOTTO_SAVE_GAME_H
#define SOTTO_SAVE_GAME_H

#include "session.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Saves all conversations of an engine to a file. Never waits.
 *
 * The file holds the conversations as they are when the request starts: after earlier session requests, and
 * before later ones. SOTTO_EVENT_PROGRESS reports progress. `json` of SOTTO_EVENT_REQUEST_DONE: {"path": ...,
 * "sessions": count, "responses": count, "messages": count, "kv_states": count, "files": count,
 * "bytes": size}. A cancel during the write comes too late: the new file is kept.
 *
 * @param engine   The engine that stores the conversations.
 * @param path     File to create or replace. Replaces only a regular file.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its events carry, or 0 on failure. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY (too many live requests) or SOTTO_ERROR_MEMORY.
 *         The event reports SOTTO_ERROR_ARGUMENT (a path to anything but a regular file) or
 *         SOTTO_ERROR_STATE (the file cannot be written).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_save_game(
    sotto_engine* engine, sotto_str path, sotto_request_flags flags, sotto_request* request
);

/**
 * Restores the conversations of a save game. Never waits.
 *
 * A session that is open with the id of a restored one is closed first; other sessions stay open. Load the
 * models before: the KV cache is kept only for a loaded model that it fits. A session that cannot be pinned
 * is opened unpinned. Nothing changes unless the whole file is valid. Events are those of
 * sotto_engine_save_game(); `kv_states` counts the caches that were kept.
 *
 * @param engine   The engine that will store the conversations.
 * @param path     File of sotto_engine_save_game(). Read through sotto_engine_desc.files, if that is set.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its events carry, or 0 on failure. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY (too many live requests) or SOTTO_ERROR_MEMORY.
 *         The event reports SOTTO_ERROR_NOT_FOUND (no such file), SOTTO_ERROR_ARGUMENT (not a regular file),
 *         SOTTO_ERROR_MODEL (no save game, damaged, or of a newer version) or SOTTO_ERROR_BUSY (more than
 *         65,536 sessions).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_restore_game(
    sotto_engine* engine, sotto_str path, sotto_request_flags flags, sotto_request* request
);

#ifdef __cplusplus
}
#endif
#endif
