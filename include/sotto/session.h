/**
 * @file sotto/session.h
 * Conversations that the engine stores, so that a request sends only new messages.
 *
 *     sotto_session_desc mara = SOTTO_INIT(sotto_session_desc);
 *     mara.id     = (sotto_str){"mara", SOTTO_NUL};
 *     mara.model  = (sotto_str){"sotto/house", SOTTO_NUL};
 *     mara.system = (sotto_str){"Name: Mara\nRole: innkeeper\nPlace: the Otter", SOTTO_NUL};
 *     sotto_engine_open_session(engine, &mara, NULL);
 *
 *     sotto_say_desc say = SOTTO_INIT(sotto_say_desc);
 *     say.session    = mara.id;
 *     say.text       = (sotto_str){player_line, SOTTO_NUL};
 *     say.max_tokens = 64;
 *     sotto_engine_say(engine, &say, &request);
 *
 * Each function submits a request and returns at once. Requests about one session take effect in the order
 * of their submission, so a line may follow right after the open. A request that fails reports its error in
 * its SOTTO_EVENT_REQUEST_DONE, like any other; the session functions send no other event. They need no
 * loaded model.
 *
 * The host chooses a session's id, 1 to 128 bytes. Any request may continue a session with the body field
 * `session`: the request's messages (may be empty) follow the session's, and the session's model is the
 * default. When a chat's answer is complete, before its SOTTO_EVENT_REQUEST_DONE, the request's messages
 * and the answer (without reasoning) are appended; a chat that is cancelled or fails leaves the session
 * unchanged. With `continue_final_message`, the last message is extended instead. A session answers one chat
 * at a time: a second chat ends with SOTTO_ERROR_BUSY, and `n` must be 1; fork the session for more. The
 * KV cache of earlier turns is reused. If sessions outnumber a model's slots, sessions are parked between
 * turns (sotto_engine_desc.kv_spill_dir). If parked state is lost, the engine prefills it from the text.
 *
 * A pinned session keeps its slot between turns and is not preempted. At least one slot of a model stays
 * unpinned: pinning the last one ends with SOTTO_ERROR_BUDGET. If the budget is lowered, pinned sessions are
 * parked last and restored first, and their state is the last to spill to disk.
 *
 * Sessions exist until they are closed or the engine is destroyed; at most 65,536 at once, one more ends
 * with SOTTO_ERROR_BUSY. An idle session costs the bytes of its messages, which forks share.
 */
#ifndef SOTTO_SESSION_H
#define SOTTO_SESSION_H

#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Describes a session to open. A zero field takes its default.
 *
 * @since 0.1
 */
typedef struct sotto_session_desc {
    uint32_t            struct_size; /**< sizeof(sotto_session_desc). */
    sotto_request_flags flags;       /**< SOTTO_REQUEST_PRIVATE or 0. */
    sotto_str           id;          /**< Id of the session. Required. */
    sotto_str           model;       /**< Default model. Empty: that of the first request, or of `from`. */
    sotto_str           system;   /**< System message, such as a character sheet. Empty: none, or `from`'s. */
    sotto_str           messages; /**< Earlier messages: a JSON array in OpenAI's schema. Empty: none. */
    sotto_str           from;     /**< Session to fork: the new one starts as its copy. Empty: none. */
    uint32_t            keep;     /**< With `from`: number of first messages to copy. 0: all. */
    int32_t             pinned;   /**< Nonzero: the session is pinned. A fork does not inherit this. */
    uint64_t            user;     /**< User data, copied into each event. */
    /**
     * The tokens of a token session (see sotto/token_session.h), copied; then `system`, `messages` and `from`
     * are empty. NULL: a session with messages.
     */
    const int32_t* tokens;
    uint32_t       token_count; /**< Number of tokens at `tokens`. 0: none yet. */
    uint32_t       reserved;    /**< Must be 0. */
} sotto_session_desc;

/**
 * Opens or forks a session. Never waits.
 *
 * `json` of SOTTO_EVENT_REQUEST_DONE: {"session": id, "messages": count, ...}.
 *
 * @param engine   The engine that stores the session.
 * @param desc     The session, copied.
 * @param request  Out: the request id that its event carries, or 0 on failure. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY (too many live requests) or SOTTO_ERROR_MEMORY.
 *         The event reports SOTTO_ERROR_STATE (a session with that id is open), SOTTO_ERROR_NOT_FOUND (no
 *         session `from`), SOTTO_ERROR_BUDGET (cannot be pinned) or SOTTO_ERROR_BUSY (65,536 are open).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_open_session(sotto_engine* engine, const sotto_session_desc* desc, sotto_request* request);

/**
 * Sets or removes the system message of an open session, for example after a quest has advanced. Never waits.
 *
 * Takes effect with the next request; a running answer continues. The next prompt is prefilled from the
 * start, because all its tokens follow the changed message.
 *
 * @param engine   The engine that stores the session.
 * @param id       Id of the session.
 * @param text     The new system message. Empty: removes the system message.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its event carries, or 0 on failure. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY. The event reports
 *         SOTTO_ERROR_NOT_FOUND (no such session).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_set_session_system(
    sotto_engine* engine, sotto_str id, sotto_str text, sotto_request_flags flags, sotto_request* request
);

/**
 * Drops the last turns of an open session, for example if the player takes back what they said. Never waits.
 *
 * A turn is a user message and all messages up to the next user message. The KV cache of the messages that
 * stay is reused by the next chat. Forks of the session are unchanged. While the session answers a chat, the
 * rewind fails: cancel the chat first, which leaves the session as it was before the chat.
 *
 * `json` of SOTTO_EVENT_REQUEST_DONE: {"session": id, "messages": count, ...}.
 *
 * @param engine   The engine that stores the session.
 * @param id       Id of the session.
 * @param turns    Number of turns to drop. 0: 1.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its event carries, or 0 on failure. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY. The event reports
 *         SOTTO_ERROR_NOT_FOUND (no such session), SOTTO_ERROR_ARGUMENT (the session has fewer turns) or
 *         SOTTO_ERROR_BUSY (the session answers a chat).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_rewind_session(
    sotto_engine* engine, sotto_str id, uint32_t turns, sotto_request_flags flags, sotto_request* request
);

/**
 * Pins or unpins an open session. Never waits.
 *
 * @param engine   The engine that stores the session.
 * @param id       Id of the session.
 * @param pinned   Nonzero: pins the session. 0: unpins it.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its event carries, or 0 on failure. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY. The event reports
 *         SOTTO_ERROR_NOT_FOUND (no such session) or SOTTO_ERROR_BUDGET (the last unpinned slot).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_pin_session(
    sotto_engine* engine, sotto_str id, int32_t pinned, sotto_request_flags flags, sotto_request* request
);

/**
 * Reads a session with its messages, for example for a save game. Never waits.
 *
 * `json` of SOTTO_EVENT_REQUEST_DONE: {"session": id, "model": ..., "pinned": true, "messages": [...]}, the
 * middle two if they apply. sotto_json_field() of `messages` is what sotto_session_desc.messages takes.
 *
 * @param engine   The engine that stores the session.
 * @param id       Id of the session. Empty: lists all sessions, each with its number of messages.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its event carries, or 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY. The event reports
 *         SOTTO_ERROR_NOT_FOUND (no such session).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_read_session(
    sotto_engine* engine, sotto_str id, sotto_request_flags flags, sotto_request* request
);

/**
 * Closes a session and deletes its messages. A running answer continues, but is not stored. Never waits.
 *
 * @param engine   The engine that stores the session.
 * @param id       Id of the session.
 * @param flags    SOTTO_REQUEST_PRIVATE or 0.
 * @param request  Out: the request id that its event carries, or 0 on failure. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY. The event reports
 *         SOTTO_ERROR_NOT_FOUND (no such session).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_close_session(
    sotto_engine* engine, sotto_str id, sotto_request_flags flags, sotto_request* request
);

/**
 * Describes one turn of a session. A zero field takes its default.
 *
 * @since 0.1
 */
typedef struct sotto_say_desc {
    uint32_t            struct_size; /**< sizeof(sotto_say_desc). */
    sotto_request_flags flags;       /**< Request flags. */
    sotto_str           session;     /**< Id of the session. Required. */
    sotto_str           text;        /**< What the player says: plain text. Empty: no new message. */
    sotto_str           fields;      /**< Further body fields, a JSON object. Empty: none. */
    uint64_t            user;        /**< User data, copied into each event. */
    uint64_t            deadline_ns; /**< As sotto_request_desc.deadline_ns. */
    float               target_tps;  /**< Pace in tokens per second. 0: the engine's. */
    sotto_priority      priority;    /**< Scheduling priority. */
    uint32_t            max_tokens;  /**< Maximum tokens of the answer. 0: no limit but the context. */
    uint32_t            reserved;    /**< Must be 0. */
} sotto_say_desc;

/**
 * Submits the player's line to a session; the answer arrives as events of a SOTTO_OP_CHAT. Never waits;
 * parses desc->fields on the calling thread.
 *
 * The line is appended to the session together with the answer, once that is complete. In `fields`,
 * `session`, `messages` and, if desc->max_tokens is set, `max_tokens` are ignored.
 *
 * @param engine   The engine that stores the session.
 * @param desc     The turn, copied.
 * @param request  Out: the request id that its events carry, or 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_BUSY or SOTTO_ERROR_MEMORY. The last event reports
 *         SOTTO_ERROR_BUSY if the session still answers another chat.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_say(sotto_engine* engine, const sotto_say_desc* desc, sotto_request* request);

#ifdef __cplusplus
}
#endif
#endif
