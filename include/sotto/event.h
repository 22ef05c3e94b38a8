/**
 * @file sotto/event.h
 * Delivers the events of requests.
 *
 * Each request sends events, the last of which is SOTTO_EVENT_REQUEST_DONE. A game polls the engine's event
 * queue once a frame. A tool that prefers to block submits the request as private and waits for the events
 * of that request, with a timeout.
 *
 *     sotto_event event = SOTTO_INIT(sotto_event);
 *     while (sotto_engine_next_event(engine, &event) == SOTTO_OK) { ... }
 */
#ifndef SOTTO_EVENT_H
#define SOTTO_EVENT_H

#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The kind of an event. */
typedef int32_t sotto_event_kind;
enum {
    SOTTO_EVENT_ACCEPTED     = 1, /**< The body is valid, the model is available, the work is queued. */
    SOTTO_EVENT_PROGRESS     = 2, /**< Long work advanced: see `progress`. */
    SOTTO_EVENT_TEXT         = 3, /**< Next part of the answer, in `text`. Whole UTF-8 characters only. */
    SOTTO_EVENT_CHOICE_DONE  = 4, /**< An answer is complete: see `finish`. */
    SOTTO_EVENT_USAGE        = 5, /**< With chunks: the usage chunk, if the body requested one. */
    SOTTO_EVENT_REQUEST_DONE = 6, /**< The last event of a request: see `status` and `error`. */
    SOTTO_EVENT_REASONING    = 7, /**< Next part of the reasoning before the answer, in `text`. */
    /**
     * The model calls a tool: `text` is the tool's name, `json` the complete call as in a response's
     * `tool_calls`. With SOTTO_REQUEST_CHUNKS: one event per chunk; `text` is the next part of the arguments.
     */
    SOTTO_EVENT_TOOL_CALL = 8,
    SOTTO_EVENT_DATA      = 9 /**< Next part of a result that is no text: `data`, described by `json`. */
};

/** Reason why an answer ended. */
typedef int32_t sotto_finish;
enum {
    SOTTO_FINISH_NONE           = 0, /**< The answer continues. */
    SOTTO_FINISH_STOP           = 1, /**< The model generated its end token, or a stop string. */
    SOTTO_FINISH_LENGTH         = 2, /**< `max_tokens` is reached, or the stream's context is full. */
    SOTTO_FINISH_TOOL_CALLS     = 3, /**< The model calls tools, each reported by SOTTO_EVENT_TOOL_CALL. */
    SOTTO_FINISH_CONTENT_FILTER = 4  /**< A guardrail blocked the rest of the answer. */
};

/**
 * One event of one request.
 *
 * @since 0.1
 */
typedef struct sotto_event {
    uint32_t         struct_size; /**< In: sizeof(sotto_event). */
    sotto_event_kind kind;        /**< Skip unknown kinds. */
    sotto_request    request;     /**< The request of this event. */
    uint64_t         user;        /**< `user` of the request. */
    sotto_str        text;        /**< Part of the answer or the reasoning, or a tool's name. */
    sotto_str        json;        /**< REQUEST_DONE: the response. With SOTTO_REQUEST_CHUNKS: the chunk. */
    sotto_status     status;      /**< With SOTTO_EVENT_REQUEST_DONE: the result. Else SOTTO_OK. */
    uint32_t         tokens;      /**< Tokens generated so far. */
    float            progress;    /**< With SOTTO_EVENT_PROGRESS: 0 to 1. */
    uint32_t         index;       /**< Index of the answer (choice), from 0. */
    sotto_finish     finish;      /**< With SOTTO_EVENT_CHOICE_DONE: why the answer ended. */
    uint32_t         reserved;    /**< 0. */
    sotto_str        error;       /**< With SOTTO_EVENT_REQUEST_DONE: why the request failed. Else empty. */
    sotto_str        data;        /**< With SOTTO_EVENT_DATA: bytes, no text. Else empty. */
} sotto_event;

/**
 * Takes the oldest event from an engine's queue. Never waits, never allocates.
 *
 * Call it in a loop once per frame, until it returns SOTTO_EMPTY. It also returns SOTTO_EMPTY while
 * another thread is inside this call on the same engine. Paced events are held back until due. After the
 * host has paused, paced events arrive at up to twice the pace until they have caught up.
 *
 * @param engine  The engine to drain.
 * @param event   In: struct_size. Out: the event. Unchanged unless SOTTO_OK.
 * @return SOTTO_OK, SOTTO_EMPTY or SOTTO_ERROR_ARGUMENT.
 *
 * @owner  The engine owns the data that `event` points at, until its next call of this function.
 * @thread One at a time per engine. It need not be the thread that created the engine.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_next_event(sotto_engine* engine, sotto_event* event);

/**
 * Takes the oldest event of one private request. Waits up to `timeout_ms` for an event.
 *
 * @param engine      The engine of the request.
 * @param request     A private request.
 * @param timeout_ms  Maximum wait in ms. 0: returns at once. Negative: no timeout.
 * @param event       In: struct_size. Out: the event. Unchanged unless SOTTO_OK.
 * @return SOTTO_OK, SOTTO_EMPTY (timeout), SOTTO_ERROR_NOT_FOUND (ended, discarded or unknown request),
 *         SOTTO_ERROR_STATE (not private, or another thread waits for its events), SOTTO_ERROR_CANCELLED
 *         (request discarded, or engine destroyed, during the call) or SOTTO_ERROR_ARGUMENT.
 *
 * @owner  The calling thread owns the data that `event` points at, until its next call of this function.
 * @thread One at a time per request.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_wait_request_event(
    sotto_engine* engine, sotto_request request, int32_t timeout_ms, sotto_event* event
);

/**
 * Waits until an engine's queue holds an event. For tools and servers, never for a frame.
 *
 * @param engine      The engine.
 * @param timeout_ms  Maximum wait in ms. 0: returns at once. Negative: no timeout.
 * @return SOTTO_OK (the queue holds an event), SOTTO_EMPTY (timeout), SOTTO_ERROR_CANCELLED (the
 *         engine was destroyed) or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_wait_for_events(sotto_engine* engine, int32_t timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
