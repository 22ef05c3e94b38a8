/**
 * @file sotto/request.h
 * Submits requests: an operation and a JSON body in the OpenAI schema.
 *
 * Submitting copies the body and returns at once; results arrive as events, see sotto/event.h.
 *
 *     sotto_request_desc ask = SOTTO_INIT(sotto_request_desc);
 *     ask.op   = SOTTO_OP_CHAT;
 *     ask.body = (sotto_str){"{\"model\": \"sotto/house\", \"messages\": [...]}", SOTTO_NUL};
 *     sotto_request request;
 *     sotto_engine_submit(engine, &ask, &request);
 *
 * Body fields. Names are OpenAI's, llama.cpp's or Sotto's. An unknown field is ignored with a warning, or
 * refused if it is one or two letters from a known one. An invalid field ends the request with
 * SOTTO_ERROR_ARGUMENT and the path of the field. See sotto/json.h for text in JSON.
 *
 *     model, messages, max_tokens (max_completion_tokens), stop, seed, n, stream_options
 *     temperature, top_p, top_k, min_p, typical_p, top_n_sigma, xtc_probability, xtc_threshold,
 *     dynatemp_range, dynatemp_exponent, mirostat, mirostat_tau, mirostat_eta, repeat_penalty,
 *     repeat_last_n, frequency_penalty, presence_penalty, dry_multiplier, dry_base,
 *     dry_allowed_length, dry_penalty_last_n, dry_sequence_breakers, samplers (their order),
 *     min_keep, logit_bias, ignore_eos (a grammar still ends the answer), logprobs, top_logprobs, n_probs
 *     response_format | json_schema | grammar (GBNF) | tools, tool_choice, parallel_tool_calls
 *     (JSON that max_tokens or the context would cut is closed in time, with SOTTO_FINISH_LENGTH; limits
 *     below about 24 tokens may still cut it)
 *     reasoning_format ("none": reasoning stays in the text), reasoning_effort,
 *     reasoning_budget_tokens, reasoning_budget_message, chat_template_kwargs
 *     continue_final_message (continue the last assistant message), add_generation_prompt
 *     context_overflow: "truncate" (default of a chat: drop the oldest turns, in pieces of up to half the
 *     context, so that later prompts hit the prefix cache), "shift" (also drop the middle of the context
 *     during decode; n_keep tokens stay) or "error";  cache_prompt: false to bypass the prefix cache
 *     on_budget, if the model has no memory at present: "wait" (until other models free memory; fails if
 *     that cannot be enough), "fail" (at once) or "shrink" (as "wait"; the
 *     model may return with fewer slots or a shorter context)
 *     SOTTO_OP_COMPLETION: prompt (text, tokens or parts), suffix, echo
 *     SOTTO_OP_INFILL: input_prefix, input_suffix, input_extra, prompt;  SOTTO_OP_DETOKENIZE: tokens, special
 *     SOTTO_OP_TOKENIZE: content, add_special, parse_special, with_pieces
 *     SOTTO_OP_SAVE_STATE: path (without: see sotto/state.h), and messages or prompt;
 *     SOTTO_OP_RESTORE_STATE: path
 *     SOTTO_OP_QUANTIZE: path, to_path, type ("Q4_K_M", ...), imatrix, threads
 *     SOTTO_OP_SLOTS: model, action ("list", "save", "restore", "erase"), id_slot, path
 *     return_tokens, return_settings, post_sampling_probs, id_slot (of a completion: the slot to use; the
 *     request waits for the slot, and reuses only what that slot holds)
 *     SOTTO_OP_EMBED: input (text, texts or tokens), encoding_format, dimensions, normalize, truncate
 *     SOTTO_OP_RERANK: query, documents, top_n, return_documents, truncate
 *     SOTTO_OP_CHECK: input, stage ("input", "output" or "image_prompt"), guardrails
 *     SOTTO_OP_TRANSCRIBE: file (a path) or input_audio, language, prompt, task, temperature,
 *     beam_size, timestamp_granularities;  SOTTO_OP_TRANSLATE: input, source_language, target_language,
 *     target_prefix, beam_size, temperature
 *     SOTTO_OP_IMAGE_GENERATE: prompt, negative_prompt, n, size ("512x512"), steps, quality, guidance_scale,
 *     seed, image (base64 or data URL: the image to start from), mask, strength, output_format,
 *     output_compression, response_format ("b64_json" or "data"), partial_images, embed_metadata
 *     SOTTO_OP_IMAGE_MATTE: image, mask_only, refine_edges, output_format, output_compression,
 *     response_format
 *
 *     SOTTO_OP_RESPOND: model, input (text or items), instructions, previous_response_id, store,
 *     max_output_tokens, text.format, tools, tool_choice, reasoning.effort, truncation, metadata, and the
 *     sampling fields; its tools have name and parameters beside type. The engine stores 4,096 responses of
 *     together 64 MiB, and then drops the least recently used; instructions hold for one response alone
 *
 * A message's content, and the prompt of a COMPLETION, may be an array of parts: text, image_url (a data
 * URL; URLs are never fetched) and input_audio (base64), if the model supports them. Limits: 64 MiB per body,
 * 65,536 messages, 256 fields and 64 KiB in chat_template_kwargs, 4,096 fields and 128 levels in a tool
 * call's arguments.
 *
 * Sessions. A CHAT, APPLY_TEMPLATE or SAVE_STATE with `session` continues a conversation that the engine
 * stores; see sotto/session.h, which also has typed functions for the session operations. A SAVE_STATE also
 * goes on with a token session, if it has no messages:
 *
 *     SOTTO_OP_OPEN_SESSION: session, model, system, messages, pinned; from (the session to fork), keep
 *     SOTTO_OP_CLOSE_SESSION: session;  SOTTO_OP_CHANGE_SESSION: session, and pinned or system or both
 *     SOTTO_OP_READ_SESSION: session, or nothing for a list of all sessions
 *     SOTTO_OP_EDIT_SESSION: session, action ("rewind"), and turns (to drop; 1 by default) or keep (number of
 *     first messages)
 *
 * Token sessions. OPEN_SESSION with `tokens` (may be empty) opens a session that holds tokens instead of
 * messages. A COMPLETION with `session`, whose prompt is an array of tokens, appends the prompt and the
 * tokens of its answer (those that return_tokens returns), and prefills only what the KV cache lacks. Actions
 * of EDIT_SESSION (see sotto/token_session.h), on the positions from `from` (0 by default) up to but not
 * including `to` (-1: the end):
 *
 *     "cut": drops the tokens; "copy": to_session, which is opened, or replaced, as a copy of the tokens;
 *     "shift": delta, added to the positions; "read": nothing changes
 *
 * A cut in the middle leaves a gap, which "shift" closes; a completion after a gap ends with
 * SOTTO_ERROR_STATE. What follows a closed gap is prefilled again: answers equal those of a new session.
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
     * a regular file. A cancel during the write comes too late: the new file is kept. Without `path`, sends
     * the state as SOTTO_EVENT_DATA, see sotto_engine_read_state().
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
    /** Pins a session or sets its system message. `json` of REQUEST_DONE: as of SOTTO_OP_OPEN_SESSION. */
    SOTTO_OP_CHANGE_SESSION = 12,
    /**
     * Embeds texts. The response has the format of OpenAI's embeddings API; the backend may also deliver the
     * vectors as SOTTO_EVENT_DATA. Needs a model whose backend embeds.
     */
    SOTTO_OP_EMBED = 13,
    /** Transcribes speech. Segments arrive as text when they are done; the response has them with times. */
    SOTTO_OP_TRANSCRIBE = 14,
    SOTTO_OP_TRANSLATE  = 15, /**< Translates texts between languages. */
    /**
     * Scores how well each document answers a query. The response has the format of Jina's reranker API: the
     * documents in descending order of their score. Needs a model with a classification head.
     */
    SOTTO_OP_RERANK = 16,
    /**
     * A response of OpenAI's Responses API. The engine stores it unless `store` is false, and a later request
     * continues the conversation by `previous_response_id`. With SOTTO_REQUEST_CHUNKS, `json` of the events
     * is the API's stream: "response.created", ..., "response.completed"; some of these events have no text.
     */
    SOTTO_OP_RESPOND = 17,
    /** Saves all conversations of the engine to `path`; see sotto_engine_save_game(). */
    SOTTO_OP_SAVE_GAME    = 18,
    SOTTO_OP_RESTORE_GAME = 19, /**< Restores them; see sotto_engine_restore_game(). */
    /**
     * Checks a text with guardrails, those that need models included; see sotto/guard.h. `json` of
     * REQUEST_DONE: the verdict.
     */
    SOTTO_OP_CHECK = 20,
    /**
     * Lists the slots of a model, or saves, restores or erases one by its number. `json` of REQUEST_DONE:
     * {"slots": [{"id", "is_processing", "n_ctx", "n_tokens", "session", "request"}, ...]}; or `id_slot` and
     * n_saved and n_written, n_restored and n_read (tokens and bytes), or n_erased. An action on a slot that
     * a stream has ends with SOTTO_ERROR_BUSY.
     */
    SOTTO_OP_SLOTS = 21,
    /**
     * Drops the last turns of a session, see sotto_engine_rewind_session(), or edits a token session. `json`
     * of REQUEST_DONE: as of SOTTO_OP_OPEN_SESSION; of a token session {"session": id, "tokens": count,
     * "end": last position or -1, ...}.
     */
    SOTTO_OP_EDIT_SESSION = 22,
    /**
     * Quantizes a model's file to another file, on a thread of its own: sends SOTTO_EVENT_PROGRESS, and can
     * be cancelled. The new file appears when it is complete, and replaces an earlier one. `json` of
     * REQUEST_DONE: {"path", "type", "bytes", "source_bytes"}.
     */
    SOTTO_OP_QUANTIZE = 23,
    /**
     * Generates images from a prompt, with OpenAI's image fields. Each denoise step sends
     * SOTTO_EVENT_PROGRESS; with `partial_images`, previews arrive as SOTTO_EVENT_DATA, whose `json` has
     * "partial": true. Each image is a PNG or WebP file, or raw RGBA. The response has them as base64; with
     * `response_format` "data", each is a SOTTO_EVENT_DATA instead, whose `json` has "index", "seed",
     * "width", "height" and "format". The guardrails of the stage `image_prompt` check the prompt first.
     */
    SOTTO_OP_IMAGE_GENERATE = 24,
    /**
     * Removes the background of an image: same size, alpha from a segmentation model, and the colours of
     * the foreground. Response and events: as of SOTTO_OP_IMAGE_GENERATE.
     */
    SOTTO_OP_IMAGE_MATTE = 25
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
 * @param request  The request. An ended or unknown id has no effect.
 * @return SOTTO_OK, SOTTO_ERROR_NOT_FOUND (no such request is live) or SOTTO_ERROR_ARGUMENT.
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
 * @param request  The private request. An ended or unknown id has no effect.
 * @return SOTTO_OK, SOTTO_ERROR_NOT_FOUND (no such request is live), SOTTO_ERROR_STATE (not private) or
 *         SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_engine_discard_request(sotto_engine* engine, sotto_request request);

/**
 * Changes the pace of a request's answers, from the next token on. Never waits.
 *
 * @param engine   The engine of the request.
 * @param request  The request. An ended or unknown id has no effect.
 * @param tps      Tokens per second, finite. 0: the engine's pace.
 * @return SOTTO_OK, SOTTO_ERROR_NOT_FOUND (no such request is live) or SOTTO_ERROR_ARGUMENT.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_engine_set_request_tps(sotto_engine* engine, sotto_request request, float tps);

#ifdef __cplusplus
}
#endif
#endif
