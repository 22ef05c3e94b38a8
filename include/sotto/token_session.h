/**
 * @file sotto/token_session.h
 * Edits of token sessions: sessions that hold tokens instead of messages, for tools that work on sequences.
 *
 *     sotto_session_desc raw = SOTTO_INIT(sotto_session_desc);
 *     raw.id          = (sotto_str){"raw", SOTTO_NUL};
 *     raw.model       = (sotto_str){"sotto/house", SOTTO_NUL};
 *     raw.tokens      = tokens;
 *     raw.token_count = count;
 *     sotto_engine_open_session(engine, &raw, NULL);
 *     // SOTTO_OP_COMPLETION with `session` and `prompt` (an array of tokens) appends the prompt and its
 * answer sotto_engine_cut_session(engine, raw.id, 20, -1, 0, NULL); // keeps positions 0 to 19
 *
 * A range is the positions from `from` up to but not including `to`; -1: the end. Positions are those of the
 * session, not indices: a cut in the middle leaves a gap, which sotto_engine_shift_session() closes. A
 * completion after a gap ends with SOTTO_ERROR_STATE. Answers always equal those of a new session with the
 * same tokens: what follows a cut is prefilled again, unless the cut reaches the end. A model whose KV cache
 * cannot be cut (sliding window, recurrent) prefills the session from its start.
 *
 * Each function submits SOTTO_OP_EDIT_SESSION and returns at once. `json` of SOTTO_EVENT_REQUEST_DONE:
 * {"session": id, "tokens": count, "end": last position or -1, ...}. sotto_engine_read_session() returns the
 * tokens themselves. While the session answers a request, edits of it fail with SOTTO_ERROR_BUSY.
 */
#ifndef SOTTO_TOKEN_SESSION_H
#define SOTTO_TOKEN_SESSION_H

#include "session.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Drops the tokens of a range from a token session. Never waits.
 *
 * @param engine   The engine that stores the session.
 * @param id       Id of the session.
 * @param from     First position, from 0.
 * @param to       Position after the range. -1: the end.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its event carries, or 0 on failure. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY. The event reports
 *         SOTTO_ERROR_NOT_FOUND (no such session), SOTTO_ERROR_ARGUMENT (a range beyond the end, or a session
 *         with messages) or SOTTO_ERROR_BUSY (the session answers a request).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_cut_session(
    sotto_engine*       engine,
    sotto_str           id,
    int32_t             from,
    int32_t             to,
    sotto_request_flags flags,
    sotto_request*      request
);

/**
 * Makes a token session a copy of a range of another one. Opens the session `to_session`, or replaces its
 * tokens, model and adapters. The tokens keep their positions. Never waits.
 *
 * @param engine      The engine that stores the sessions.
 * @param id          Id of the session to copy from.
 * @param to_session  Id of the session that takes the tokens.
 * @param from        First position, from 0.
 * @param to          Position after the range. -1: the end.
 * @param flags       SOTTO_REQUEST_PRIVATE or 0.
 * @param request     Out: the request id that its event carries, or 0 on failure. NULL: not reported.
 * @return As sotto_engine_cut_session().
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_copy_session(
    sotto_engine*       engine,
    sotto_str           id,
    sotto_str           to_session,
    int32_t             from,
    int32_t             to,
    sotto_request_flags flags,
    sotto_request*      request
);

/**
 * Adds `delta` to the positions of a range of a token session. Never waits.
 *
 * @param engine   The engine that stores the session.
 * @param id       Id of the session.
 * @param from     First position, from 0.
 * @param to       Position after the range. -1: the end.
 * @param delta    Number to add. The tokens must keep their order, and positions stay at least 0.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its event carries, or 0 on failure. NULL: not reported.
 * @return As sotto_engine_cut_session().
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_shift_session(
    sotto_engine*       engine,
    sotto_str           id,
    int32_t             from,
    int32_t             to,
    int32_t             delta,
    sotto_request_flags flags,
    sotto_request*      request
);

#ifdef __cplusplus
}
#endif
#endif
