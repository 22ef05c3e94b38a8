/**
 * @file sotto/state.h
 * KV cache states in memory: read one from an engine, and restore it later, in this or another process.
 *
 *     sotto_engine_read_state(engine, mara, 0, &request);
 *     // a SOTTO_EVENT_DATA has the state in `data`: copy it, for example into the game's own save file
 *     sotto_engine_restore_state(engine, model, state, 0, &request);
 *     // the next prompt that begins with the same tokens is not prefilled again
 *
 * A state is the KV cache of a prompt, in the format of the files of SOTTO_OP_SAVE_STATE: a header, a
 * checksum, and what it fits: one model file, one library version, one KV type and one adapter set. A state
 * holds tokens, no messages: save these too, see sotto_engine_read_session(). A state in memory restores what
 * a file does, and the reverse.
 */
#ifndef SOTTO_STATE_H
#define SOTTO_STATE_H

#include "session.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Reads the KV cache state of a session. Prefills what the KV cache lacks of the session, generates nothing.
 * Never waits.
 *
 * The state arrives as one SOTTO_EVENT_DATA, whose `data` is the state. Its `json`, and that of
 * SOTTO_EVENT_REQUEST_DONE: {"tokens": count, "bytes": size}. The size is about the number of tokens times
 * `kv_per_token` of the model's plan. A session that answers a request is read as it was before. For a prompt
 * without a session, submit SOTTO_OP_SAVE_STATE without `path`: its events are the same.
 *
 * @param engine   The engine that stores the session.
 * @param session  Id of the session, which holds messages or tokens.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its events carry, or 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY (too many live requests) or SOTTO_ERROR_MEMORY.
 *         The event reports SOTTO_ERROR_NOT_FOUND (no such session, or its model is not loaded),
 *         SOTTO_ERROR_ARGUMENT (an empty session), SOTTO_ERROR_STATE (a gap between tokens),
 *         SOTTO_ERROR_UNSUPPORTED (the model's backend saves no states) or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_read_state(
    sotto_engine* engine, sotto_str session, sotto_request_flags flags, sotto_request* request
);

/**
 * Restores a KV cache state into the prefix cache of a model, for the next prompt that begins with the same
 * tokens. Never waits.
 *
 * A state that is damaged, cut off, of another model or of another library version is refused, and changes
 * nothing. `json` of SOTTO_EVENT_REQUEST_DONE: {"tokens": count, "bytes": size}.
 *
 * @param engine   The engine that has loaded the model.
 * @param model    Id of the model.
 * @param state    The state, copied.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its events carry, or 0 on failure. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT (no bytes included), SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY. The
 *         event reports SOTTO_ERROR_NOT_FOUND (the model is not loaded), SOTTO_ERROR_MODEL (no state,
 * damaged, or of another model or version) or SOTTO_ERROR_UNSUPPORTED (the model's backend saves no states).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_restore_state(
    sotto_engine* engine, sotto_str model, sotto_str state, sotto_request_flags flags, sotto_request* request
);

#ifdef __cplusplus
}
#endif
#endif
