/**
 * @file sotto/request.h
 * Asking for something, and hearing what became of it.
 *
 * A request is an operation and a JSON body in the OpenAI schema. Submitting copies it and
 * returns at once; everything else arrives as events, the last of which is SOTTO_EVENT_DONE. A
 * game takes them from its engine's queue, once a frame. A tool that would rather wait submits
 * the request as private and takes its events from the request itself, with a timeout.
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
 * What a body may say. Fields are OpenAI's; those that are not are llama.cpp's or ours. Unknown
 * ones are passed over, bad ones end the request with SOTTO_ERROR_ARGUMENT and their path.
 *
 *     model, messages, max_tokens (max_completion_tokens), stop, seed, n, stream_options
 *     temperature, top_p, top_k, min_p, typical_p, top_n_sigma, xtc_probability, xtc_threshold,
 *     dynatemp_range, dynatemp_exponent, mirostat, mirostat_tau, mirostat_eta, repeat_penalty,
 *     repeat_last_n, frequency_penalty, presence_penalty, dry_multiplier, dry_base,
 *     dry_allowed_length, dry_penalty_last_n, dry_sequence_breakers, samplers (their order),
 *     min_keep, logit_bias, ignore_eos (until a form is at its end), logprobs, top_logprobs, n_probs
 *     response_format | json_schema | grammar (GBNF) | tools, tool_choice, parallel_tool_calls
 *     (an answer in JSON is closed before max_tokens or the context is used up)
 *     reasoning_format ("none": thoughts stay in the text), reasoning_effort,
 *     reasoning_budget_tokens, reasoning_budget_message, chat_template_kwargs
 *     continue_final_message (go on with the assistant's last words), add_generation_prompt
 *     context_overflow: "truncate" (a chat's default: leave out the oldest turns, in pieces of up to half the
 *     context, so that later prompts begin alike and stay cached), "shift" (also forget the middle while
 *     answering; n_keep tokens stay) or "error";  cache_prompt: false to work through what is remembered
 *     on_budget: where the model has no memory at present, "wait" (until others leave some; it fails
 *     where that would not do), "fail" (at once) or "shrink" (as wait; it may come back smaller)
 *     SOTTO_OP_TEXT: prompt (text or tokens), suffix, echo
 *     SOTTO_OP_INFILL: input_prefix, input_suffix, input_extra, prompt;  SOTTO_OP_DETOKENIZE: tokens, special
 *     SOTTO_OP_TOKENIZE: content, add_special, parse_special, with_pieces
 *     SOTTO_OP_SAVE: path, and messages or prompt;  SOTTO_OP_RESTORE: path
 *
 * A message's content may hold parts: text, image_url (a data URL; nothing is fetched) and input_audio
 * (base64), where the model reads them. At most: 64 MiB a body, 65,536 messages, 256 fields and 64 KiB
 * in chat_template_kwargs, 4,096 fields and 128 levels in a tool call's arguments.
 *
 * Sessions. A conversation that the engine keeps, so that a request says only what is new. Its id is the
 * host's to choose, 1 to 128 bytes. A CHAT, TEMPLATE or SAVE with `session` goes on with it: its messages (it
 * may have none) follow the session's, and so does the session's model where it names none. Once a chat's
 * answer is whole, and before its SOTTO_EVENT_DONE, its messages and the answer (without thoughts) are added;
 * one that is cancelled or fails leaves the session as it was. With continue_final_message, the last message
 * becomes longer instead. A session answers one chat at a time, others end with SOTTO_ERROR_BUSY, and `n` is
 * 1: fork it for more. What the model remembers of it is not worked through again: where sessions outnumber a
 * model's places, it is parked between its turns (sotto_engine_desc.park_dir). Where that is lost, it is
 * worked through from the text, unasked.
 *
 * A session that is `pinned` keeps its place between its turns, and nobody takes it while it speaks. A model
 * leaves one place to the others: to pin as many sessions as it has places ends with SOTTO_ERROR_BUDGET.
 * Where the budget is lowered, pinned ones are parked last, and come back first; what is parked of them is
 * the last to leave memory. A fork is not pinned.
 *
 *     SOTTO_OP_OPEN_SESSION: session, model, messages, pinned; from (a session to fork: this one begins as
 *     its copy), keep (only the first so many messages of that one)
 *     SOTTO_OP_CLOSE_SESSION: session;  SOTTO_OP_CHANGE_SESSION: session, pinned
 *     SOTTO_OP_READ_SESSION: session, or nothing: a list of all
 *
 * These need no model, are told by their SOTTO_EVENT_DONE alone, and are done in the order that they were
 * asked for, so a chat may follow the opening at once. Sessions are kept until they are closed, or the engine
 * destroyed; at most 65,536 at once, more end with SOTTO_ERROR_BUSY. One that nobody speaks in costs the
 * bytes of its messages, which forks share.
 */
#ifndef SOTTO_REQUEST_H
#define SOTTO_REQUEST_H

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Names one request. Never reused; 0 names none. A stale name is harmless. */
typedef uint64_t sotto_request;

/** What is asked for. */
typedef int32_t sotto_op;
enum {
    SOTTO_OP_CHAT       = 1, /**< An OpenAI chat completion. */
    SOTTO_OP_TEXT       = 2, /**< An OpenAI text completion: the prompt as it stands, no template. */
    SOTTO_OP_INFILL     = 3, /**< A text completion between `input_prefix` and `input_suffix`. */
    SOTTO_OP_TOKENIZE   = 4, /**< The tokens of `content`. Computes nothing, like the two below. */
    SOTTO_OP_DETOKENIZE = 5, /**< The text of `tokens`. */
    SOTTO_OP_TEMPLATE   = 6, /**< The prompt that a chat completion's `messages` make. */
    /**
     * Works through the prompt of a chat (`messages`) or text (`prompt`) completion, answers nothing, and
     * saves what the model then remembers to `path`: whole or not at all, for this user alone, in place of
     * nothing but a regular file. A cancel that comes while it is being written leaves the file.
     */
    SOTTO_OP_SAVE = 7,
    /** Has the model remember the state in the file `path`, for the next prompt that begins so. */
    SOTTO_OP_RESTORE = 8,
    /** Begins a session, or a fork of one. `json` of DONE: {"session": id, "messages": how many, ...}. */
    SOTTO_OP_OPEN_SESSION = 9,
    /** Ends a session. A chat that it answers goes on, and is added to nothing. */
    SOTTO_OP_CLOSE_SESSION = 10,
    /** `json` of DONE: the session with its messages, which SOTTO_OP_OPEN_SESSION takes; or all in short. */
    SOTTO_OP_READ_SESSION = 11,
    /** Pins a session, or lets go of it. `json` of DONE: as of SOTTO_OP_OPEN_SESSION. */
    SOTTO_OP_CHANGE_SESSION = 12
};

/** How a request is to be treated; any of them together. */
typedef uint32_t sotto_request_flags;
enum {
    SOTTO_REQUEST_PRIVATE = 1, /**< Events go to sotto_engine_wait_event(), not to the engine's queue. */
    SOTTO_REQUEST_CHUNKS  = 2  /**< Events carry OpenAI stream chunks in `json`. */
};

/**
 * Who is served first. A foreground request gets the next slice, and if need be the slot of one of
 * lower priority, which goes on later where it was. While higher priorities keep the models busy, each
 * lower one with requests still gets at least 5 % of the generated tokens, from when a stream of the model
 * ends, in a slot that it keeps for 64 tokens, or a second and 8 tokens; where higher ones compute little,
 * after ten seconds. Within a priority, who was not served for ten seconds goes first.
 */
typedef int32_t sotto_priority;
enum {
    SOTTO_PRIORITY_BACKGROUND = -1, /**< What nobody waits for: summaries, gossip. */
    SOTTO_PRIORITY_NORMAL     = 0,
    SOTTO_PRIORITY_FOREGROUND = 1 /**< Whom the player speaks with. */
};

/**
 * What a host asks for. Zero in a field is its default.
 *
 * @since 0.1
 */
typedef struct sotto_request_desc {
    uint32_t            struct_size; /**< sizeof(sotto_request_desc). */
    sotto_op            op;          /**< Required. */
    sotto_str           body;        /**< JSON, copied. It is read later: an event tells what is wrong. */
    uint64_t            user;        /**< Anything. Comes back in each event. */
    sotto_request_flags flags;       /**< How to treat it. */
    float               target_tps;  /**< Tokens per second to pace to. 0: the engine's. */
    sotto_priority      priority;    /**< Who is served first. */
    uint32_t            reserved;    /**< Must be 0. */
    /**
     * When the answer shall have begun, on the system's monotonic clock. Of two requests that matter
     * as much, the one with the earlier deadline is served first. Nothing happens to one that misses
     * it. 0: none.
     */
    uint64_t deadline_ns;
} sotto_request_desc;

/**
 * Asks for something. Never waits.
 *
 * @param engine   The engine that does it.
 * @param desc     What is asked for, copied.
 * @param request  Out: the name its events carry, or 0 on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_UNSUPPORTED, SOTTO_ERROR_BUSY (as many are
 *         live as sotto_engine_desc.max_requests says) or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_submit(sotto_engine* engine, const sotto_request_desc* desc, sotto_request* request);

/**
 * Asks for a request to end. Its last event comes soon, with SOTTO_ERROR_CANCELLED unless it was
 * over before. Never waits.
 *
 * @param engine   The engine it was submitted to.
 * @param request  The request. One that is over, or never was, is harmless.
 * @return SOTTO_OK, SOTTO_EMPTY (no such request is live) or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_cancel(sotto_engine* engine, sotto_request request);

/**
 * Cancels a private request and drops what it would still have told. Never waits.
 *
 * A thread that waits for its events returns SOTTO_ERROR_CANCELLED. A private request must be
 * dropped, or its events taken up to SOTTO_EVENT_DONE: until then it counts as live.
 *
 * @param engine   The engine it was submitted to.
 * @param request  The private request. One that is over, or never was, is harmless.
 * @return SOTTO_OK, SOTTO_EMPTY (no such request is live), SOTTO_ERROR_STATE (it is not private) or
 *         SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_drop(sotto_engine* engine, sotto_request request);

/**
 * Changes the pace at which a request's answers are told, from the next token on. Never waits.
 *
 * @param engine   The engine it was submitted to.
 * @param request  The request. One that is over, or never was, is harmless.
 * @param tps      Tokens per second, finite. 0: the engine's.
 * @return SOTTO_OK, SOTTO_EMPTY (no such request is live) or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_set_request_tps(sotto_engine* engine, sotto_request request, float tps);

/** What an event tells. */
typedef int32_t sotto_event_kind;
enum {
    SOTTO_EVENT_ACCEPTED = 1, /**< The body was understood, the model is there, the work is queued. */
    SOTTO_EVENT_PROGRESS = 2, /**< Long work got on: see `progress`. */
    SOTTO_EVENT_TEXT     = 3, /**< More of the answer, in `text`. Whole UTF-8 characters only. */
    /** An answer is whole; `text` says why: "stop", "length" or "tool_calls". */
    SOTTO_EVENT_FINISH    = 4,
    SOTTO_EVENT_USAGE     = 5, /**< The usage chunk, where the body asked for one. */
    SOTTO_EVENT_DONE      = 6, /**< The last event of a request: see `status` and, if it failed, `text`. */
    SOTTO_EVENT_REASONING = 7, /**< More of what the model thinks before it answers, in `text`. */
    /**
     * The model calls a tool: `text` is its name, `json` the call as in a response's `tool_calls`,
     * whole. With SOTTO_REQUEST_CHUNKS: one event a chunk, and `text` is more of the arguments.
     */
    SOTTO_EVENT_TOOL_CALL = 8
};

/**
 * One thing that happened to one request.
 *
 * @since 0.1
 */
typedef struct sotto_event {
    uint32_t         struct_size; /**< In: sizeof(sotto_event). */
    sotto_event_kind kind;        /**< Skip kinds you do not know. */
    sotto_request    request;     /**< Whose event this is. */
    uint64_t         user;        /**< What the host gave when it submitted. */
    sotto_str        text;        /**< Text of the answer, a finish reason, or why it failed. */
    sotto_str        json;        /**< DONE: the response. With SOTTO_REQUEST_CHUNKS: this event's chunk. */
    sotto_status     status;      /**< With SOTTO_EVENT_DONE: how it ended. Else SOTTO_OK. */
    uint32_t         tokens;      /**< Tokens generated so far. */
    float            progress;    /**< With SOTTO_EVENT_PROGRESS: 0 to 1. */
    uint32_t         index;       /**< Which of the answers asked for, from 0. */
} sotto_event;

/**
 * Takes the oldest event off an engine's queue. Never waits, never allocates.
 *
 * Call it in a loop once per frame, until it says SOTTO_EMPTY. It also says so while another
 * thread is inside this call on the same engine. What is paced comes when it is due, never before;
 * after a pause of the host's, at twice the pace at most until it has caught up.
 *
 * @param engine  The engine to drain.
 * @param event   In: struct_size. Out: the event. Left alone unless SOTTO_OK.
 * @return SOTTO_OK, SOTTO_EMPTY or SOTTO_ERROR_ARGUMENT.
 *
 * @owner  What `event` points at is the engine's, until the next call of this function on it.
 * @thread One at a time per engine. It need not be the thread that created it.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_next_event(sotto_engine* engine, sotto_event* event);

/**
 * Takes the oldest event of one private request. Waits for one, at most as long as it is told.
 *
 * @param engine      The engine it was submitted to.
 * @param request     A private request.
 * @param timeout_ms  How long to wait. 0: not at all. Below 0: for as long as it takes.
 * @param event       In: struct_size. Out: the event. Left alone unless SOTTO_OK.
 * @return SOTTO_OK, SOTTO_EMPTY (time is up), SOTTO_ERROR_NOT_FOUND (it is over, dropped or never
 *         was), SOTTO_ERROR_STATE (it is not private, or another thread waits for it),
 *         SOTTO_ERROR_CANCELLED (it was dropped, or the engine destroyed, meanwhile) or
 *         SOTTO_ERROR_ARGUMENT.
 *
 * @owner  What `event` points at is the calling thread's, until its next call of this function.
 * @thread One at a time per request.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_wait_event(sotto_engine* engine, sotto_request request, int32_t timeout_ms, sotto_event* event);

/**
 * Waits until an engine's queue holds an event. For tools and servers, never for a frame.
 *
 * @param engine      The engine.
 * @param timeout_ms  How long to wait. 0: not at all. Below 0: for as long as it takes.
 * @return SOTTO_OK (there is one), SOTTO_EMPTY (time is up), SOTTO_ERROR_CANCELLED (the engine was
 *         destroyed) or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_wait(sotto_engine* engine, int32_t timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
