/**
 * @file sotto/request.h
 * Submits requests and delivers their events.
 *
 * A request is an operation and a JSON body in the OpenAI schema. Submitting copies the body and returns
 * at once; results arrive as events, the last of which is SOTTO_EVENT_REQUEST_DONE. A game polls the
 * engine's event queue once a frame. A tool that prefers to block submits the request as private and
 * waits for the events of that request, with a timeout.
 *
 *     sotto_request_desc ask = SOTTO_INIT(sotto_request_desc);
 *     ask.op   = SOTTO_OP_CHAT;
 *     ask.body = (sotto_str){"{\"model\": \"sotto/house\", \"messages\": [...]}", SOTTO_NUL};
 *     sotto_request request;
 *     sotto_engine_submit(engine, &ask, &request);
 *
 *     sotto_event event = SOTTO_INIT(sotto_event);
 *     while (sotto_engine_next_event(engine, &event) == SOTTO_OK) { ... }
 *
 * Body fields. Names are OpenAI's, llama.cpp's or Sotto's. Unknown fields are ignored; an invalid field
 * ends the request with SOTTO_ERROR_ARGUMENT and the path of the field.
 *
 *     model, messages, max_tokens (max_completion_tokens), stop, seed, n, stream_options
 *     temperature, top_p, top_k, min_p, typical_p, top_n_sigma, xtc_probability, xtc_threshold,
 *     dynatemp_range, dynatemp_exponent, mirostat, mirostat_tau, mirostat_eta, repeat_penalty,
 *     repeat_last_n, frequency_penalty, presence_penalty, dry_multiplier, dry_base,
 *     dry_allowed_length, dry_penalty_last_n, dry_sequence_breakers, samplers (their order),
 *     min_keep, logit_bias, ignore_eos (a grammar still ends the answer), logprobs, top_logprobs, n_probs
 *     response_format | json_schema | grammar (GBNF) | tools, tool_choice, parallel_tool_calls
 *     (a JSON answer is closed before max_tokens or the context runs out)
 *     reasoning_format ("none": reasoning stays in the text), reasoning_effort,
 *     reasoning_budget_tokens, reasoning_budget_message, chat_template_kwargs
 *     continue_final_message (continue the last assistant message), add_generation_prompt
 *     context_overflow: "truncate" (default of a chat: drop the oldest turns, in pieces of up to half the
 *     context, so that later prompts hit the prefix cache), "shift" (also drop the middle of the context
 *     during decode; n_keep tokens stay) or "error";  cache_prompt: false to bypass the prefix cache
 *     on_budget, if the model has no memory at present: "wait" (until other models free memory; fails if
 *     that cannot be enough), "fail" (at once) or "shrink" (as "wait"; the model may return smaller)
 *     SOTTO_OP_COMPLETION: prompt (text or tokens), suffix, echo
 *     SOTTO_OP_INFILL: input_prefix, input_suffix, input_extra, prompt;  SOTTO_OP_DETOKENIZE: tokens, special
 *     SOTTO_OP_TOKENIZE: content, add_special, parse_special, with_pieces
 *     SOTTO_OP_SAVE_STATE: path, and messages or prompt;  SOTTO_OP_RESTORE_STATE: path
 *
 * A message's content may hold parts: text, image_url (a data URL; URLs are never fetched) and input_audio
 * (base64), if the model supports them. Limits: 64 MiB per body, 65,536 messages, 256 fields and 64 KiB
 * in chat_template_kwargs, 4,096 fields and 128 levels in a tool call's arguments.
 *
 * Sessions. A session is a conversation that the engine stores, so that a request sends only new messages.
 * The host chooses its id, 1 to 128 bytes. A CHAT, APPLY_TEMPLATE or SAVE_STATE with `session` continues
 * the session: the request's messages (may be empty) follow the session's, and the session's model is the
 * default. When a chat's answer is complete, before its SOTTO_EVENT_REQUEST_DONE, the request's messages
 * and the answer (without reasoning) are appended; a chat that is cancelled or fails leaves the session
 * unchanged. With continue_final_message, the last message is extended instead. A session answers one chat
 * at a time: a second chat ends with SOTTO_ERROR_BUSY, and `n` must be 1; fork the session for more. The
 * KV cache of earlier turns is reused. If sessions outnumber a model's slots, sessions are parked between
 * turns (sotto_engine_desc.kv_spill_dir). If parked state is lost, the engine prefills it from the text.
 *
 * A `pinned` session keeps its slot between turns and is not preempted. At least one slot of a model stays
 * unpinned: pinning the last one returns SOTTO_ERROR_BUDGET. If the budget is lowered, pinned sessions are
 * parked last and restored first, and their state is the last to spill to disk. A fork is not pinned.
 *
 *     SOTTO_OP_OPEN_SESSION: session, model, messages, pinned; from (the session to fork: the new one
 *     starts as its copy), keep (copies only this many of the first messages)
 *     SOTTO_OP_CLOSE_SESSION: session;  SOTTO_OP_CHANGE_SESSION: session, pinned
 *     SOTTO_OP_READ_SESSION: session, or nothing for a list of all sessions
 *
 * Session operations need no loaded model, send only SOTTO_EVENT_REQUEST_DONE, and run in submission
 * order, so a chat may be submitted right after the open. Sessions exist until they are closed or the
 * engine is destroyed; at most 65,536 at once, one more ends with SOTTO_ERROR_BUSY. An idle session costs
 * the bytes of its messages, which forks share.
 */
#ifndef SOTTO_REQUEST_H
#define SOTTO_REQUEST_H

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Request id. Ids are never reused; 0 is never valid. A stale id is harmless. */
typedef uint64_t sotto_request;

/** The operation of a request. */
typedef int32_t sotto_op;
enum {
    SOTTO_OP_CHAT           = 1, /**< An OpenAI chat completion. */
    SOTTO_OP_COMPLETION     = 2, /**< An OpenAI text completion: the raw prompt, no template. */
    SOTTO_OP_INFILL         = 3, /**< A text completion between `input_prefix` and `input_suffix`. */
    SOTTO_OP_TOKENIZE       = 4, /**< Returns the tokens of `content`. Runs no model step. */
    SOTTO_OP_DETOKENIZE     = 5, /**< Returns the text of `tokens`. Runs no model step. */
    SOTTO_OP_APPLY_TEMPLATE = 6, /**< Returns the prompt rendered from `messages`. Runs no model step. */
    /**
     * Prefills the prompt of a chat (`messages`) or text (`prompt`) completion, generates nothing, and saves
     * the KV cache to `path`. Writes the file whole or not at all, for the current user only; replaces only
     * a regular file. A cancel during the write leaves the file.
     */
    SOTTO_OP_SAVE_STATE = 7,
    /** Loads the state file `path` into the prefix cache, for the next prompt that starts with it. */
    SOTTO_OP_RESTORE_STATE = 8,
    /** Opens or forks a session. `json` of REQUEST_DONE: {"session": id, "messages": count, ...}. */
    SOTTO_OP_OPEN_SESSION = 9,
    /** Closes a session. A running chat of the session continues, but its answer is not stored. */
    SOTTO_OP_CLOSE_SESSION = 10,
    /** `json` of REQUEST_DONE: the session with messages, as OPEN_SESSION takes them; or a list of all. */
    SOTTO_OP_READ_SESSION = 11,
    /** Pins or unpins a session. `json` of REQUEST_DONE: as of SOTTO_OP_OPEN_SESSION. */
    SOTTO_OP_CHANGE_SESSION = 12
};

/** Request flags, combined with bitwise or. */
typedef uint32_t sotto_request_flags;
enum {
    SOTTO_REQUEST_PRIVATE = 1, /**< Events go to sotto_engine_wait_request_event(), not the queue. */
    SOTTO_REQUEST_CHUNKS  = 2  /**< Events carry OpenAI stream chunks in `json`. */
};

/**
 * Scheduling priority. A foreground request gets the next slice; if no slot is free, it preempts a stream
 * of lower priority, which resumes later where it stopped. While higher priorities keep the models busy,
 * each lower priority with requests still gets at least 5 % of the generated tokens, from when a stream of
 * the model ends, in a slot not preempted for 64 tokens, or a second and 8 tokens; if higher priorities
 * compute little, after ten seconds. Within a priority, a stream not served for ten seconds goes first.
 */
typedef int32_t sotto_priority;
enum {
    SOTTO_PRIORITY_BACKGROUND = -1, /**< Work that no player waits for: summaries, gossip. */
    SOTTO_PRIORITY_NORMAL     = 0,
    SOTTO_PRIORITY_FOREGROUND = 1 /**< The character that the player speaks with. */
};

/**
 * Describes a request. A zero field takes its default.
 *
 * @since 0.1
 */
typedef struct sotto_request_desc {
    uint32_t            struct_size; /**< sizeof(sotto_request_desc). */
    sotto_op            op;          /**< Required. */
    sotto_str           body;        /**< JSON, copied. Parsed later: an event reports errors. */
    uint64_t            user;        /**< User data, copied into each event. */
    sotto_request_flags flags;       /**< Request flags. */
    float               target_tps;  /**< Pace in tokens per second. 0: the engine's. */
    sotto_priority      priority;    /**< Scheduling priority. */
    uint32_t            reserved;    /**< Must be 0. */
    /**
     * Deadline for the start of the answer, in ns on the system's monotonic clock. Among requests of equal
     * priority, the earliest deadline goes first. A missed deadline has no effect. 0: no deadline.
     */
    uint64_t deadline_ns;
} sotto_request_desc;

/**
 * Submits a request. Never waits.
 *
 * @param engine   The engine that runs the request.
 * @param desc     The request, copied.
 * @param request  Out: the request id that its events carry, or 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_UNSUPPORTED, SOTTO_ERROR_BUSY
 *         (sotto_engine_desc.max_requests requests are live) or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_submit(sotto_engine* engine, const sotto_request_desc* desc, sotto_request* request);

/**
 * Cancels a request. Its last event follows soon, with SOTTO_ERROR_CANCELLED unless the request had
 * already ended. Never waits.
 *
 * @param engine   The engine of the request.
 * @param request  The request. An ended or unknown id is harmless.
 * @return SOTTO_OK, SOTTO_EMPTY (no such request is live) or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_cancel(sotto_engine* engine, sotto_request request);

/**
 * Cancels a private request and discards its remaining events. Never waits.
 *
 * A thread that waits for the request's events returns SOTTO_ERROR_CANCELLED. A private request counts
 * as live until it is discarded, or its events are taken up to SOTTO_EVENT_REQUEST_DONE.
 *
 * @param engine   The engine of the request.
 * @param request  The private request. An ended or unknown id is harmless.
 * @return SOTTO_OK, SOTTO_EMPTY (no such request is live), SOTTO_ERROR_STATE (not private) or
 * SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_discard_request(sotto_engine* engine, sotto_request request);

/**
 * Changes the pace of a request's answers, from the next token on. Never waits.
 *
 * @param engine   The engine of the request.
 * @param request  The request. An ended or unknown id is harmless.
 * @param tps      Tokens per second, finite. 0: the engine's pace.
 * @return SOTTO_OK, SOTTO_EMPTY (no such request is live) or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_set_request_tps(sotto_engine* engine, sotto_request request, float tps);

/** The kind of an event. */
typedef int32_t sotto_event_kind;
enum {
    SOTTO_EVENT_ACCEPTED = 1, /**< The body is valid, the model is available, the work is queued. */
    SOTTO_EVENT_PROGRESS = 2, /**< Long work advanced: see `progress`. */
    SOTTO_EVENT_TEXT     = 3, /**< Next part of the answer, in `text`. Whole UTF-8 characters only. */
    /** An answer is complete; `text` is its finish reason: "stop", "length" or "tool_calls". */
    SOTTO_EVENT_CHOICE_DONE  = 4,
    SOTTO_EVENT_USAGE        = 5, /**< The usage chunk, if the body requested one. */
    SOTTO_EVENT_REQUEST_DONE = 6, /**< The last event of a request: see `status` and, if it failed, `text`. */
    SOTTO_EVENT_REASONING    = 7, /**< Next part of the reasoning before the answer, in `text`. */
    /**
     * The model calls a tool: `text` is the tool's name, `json` the complete call as in a response's
     * `tool_calls`. With SOTTO_REQUEST_CHUNKS: one event per chunk; `text` is the next part of the arguments.
     */
    SOTTO_EVENT_TOOL_CALL = 8
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
    sotto_str        text;        /**< Text of the answer, finish reason, or error message. */
    sotto_str        json;        /**< REQUEST_DONE: the response. With SOTTO_REQUEST_CHUNKS: the chunk. */
    sotto_status     status;      /**< With SOTTO_EVENT_REQUEST_DONE: the result. Else SOTTO_OK. */
    uint32_t         tokens;      /**< Tokens generated so far. */
    float            progress;    /**< With SOTTO_EVENT_PROGRESS: 0 to 1. */
    uint32_t         index;       /**< Index of the answer (choice), from 0. */
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
