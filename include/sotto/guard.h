/**
 * @file sotto/guard.h
 * Guardrails: checks text against phrases, regular expressions, topics and the judgement of a model.
 *
 *     sotto_str    config = {"{\"output\": [...]}", SOTTO_NUL};
 *     sotto_guard* guard;
 *     sotto_str    verdict;
 *     sotto_guard_create(config, &guard);
 *     sotto_guard_check(guard, SOTTO_GUARD_OUTPUT, text, &verdict);
 *
 * The configuration is a JSON object of the stages `input` (what a player writes), `output` (what a model
 * writes) and `image_prompt`. Each is a list of checkers, which look at the text in this order. A checker is
 * an object:
 *
 *     type         "phrases", "regex", "topics" or "judge"
 *     name         its name in verdicts; "keyword" or the type by default
 *     category     what it finds, such as "profanity"
 *     reason       text of the verdict; by default, the category and "detected"
 *     action       "block" (default) or "rewrite"
 *     replacement  with "rewrite": takes the place of what was found; of "topics" and "judge", required:
 *                  takes the place of the whole text, and ends the check
 *     mask         with "rewrite": takes the place of each character found; "*" by default
 *     phrases      of "phrases": the phrases; `*` at an end also finds them inside longer words
 *     whole_words  of "phrases": false also finds phrases inside longer words. Default: true
 *     letters      of "phrases": decorated letters that are letters of their own, such as "n" with tilde
 *     patterns     of "regex": expressions in RE2's syntax
 *     ignore_case  of "regex": default true
 *     allow        phrases (or expressions) within which nothing is found
 *     model        of "topics" and "judge": id of a loaded model that embeds, or that chats
 *     topics       of "topics": an object; under the name of each topic, sentences about it, at most
 *                  1,000 in all, of 1,024 bytes each
 *     threshold    of "topics": minimum cosine, above 0, between the embeddings of a sentence of the text and
 *                  of the nearest of these; it is the score of the verdict. The default category is the topic
 *     instruction  of "judge": what the model, which answers "allow" or "block", has to block
 *     on_error     of "topics" and "judge", if the model fails or is not loaded: "fail" (default: so does the
 *                  request), "block" or "allow"
 *
 * A phrase is found in upper and lower case, with decorated letters, look-alike letters of other alphabets,
 * digits and symbols for letters, invisible characters, letters that are repeated three times or more, and
 * separators between its letters.
 *
 * The first checker that finds something decides. One that blocks ends the check. One that rewrites hands the
 * rewritten text to the next; a later one that blocks takes precedence. Topics and judges, which need the
 * models of an engine, come after all others: SOTTO_OP_CHECK and the engine's own checks run them, and the
 * functions below refuse a stage that has some.
 *
 * A verdict is a JSON object:
 *
 *     action        "Allow", {"Block": {"reason": ...}}, or
 *                   {"Rewrite": {"original": ..., "rewritten": ..., "reason": ...}}
 *     checker_name  the checker that decided; of an allowed text, the last one of the stage, else ""
 *     score         confidence from 0 to 1; null if nothing was found, or a judge decided
 *     allowed       false if blocked
 *     category      of the checker that decided, or null
 *
 * A guard needs no engine. After fork(), a child's calls on its parent's guards and streams return
 * SOTTO_ERROR_ARGUMENT.
 */
#ifndef SOTTO_GUARD_H
#define SOTTO_GUARD_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque handle of a guard: pass it to calls, never dereference it. */
typedef struct sotto_guard sotto_guard;

/** Opaque handle of a text that is checked while it streams. */
typedef struct sotto_guard_stream sotto_guard_stream;

/** Which list of checkers looks at a text. */
typedef int32_t sotto_guard_stage;
enum {
    SOTTO_GUARD_INPUT        = 0, /**< What a player writes. */
    SOTTO_GUARD_OUTPUT       = 1, /**< What a model writes. */
    SOTTO_GUARD_IMAGE_PROMPT = 2  /**< Prompts of generated images. */
};

/**
 * Creates a guard. Takes about a second for 100,000 phrases. Never waits.
 *
 * @param config  The configuration, at most 64 MiB of JSON with at most 1,000,000 phrases and 1,000
 *                expressions of at most 16,384 bytes.
 * @param guard   Out: the new guard, or NULL on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT (the text names the JSON path), SOTTO_ERROR_BUSY (1,024 guards
 *         live) or SOTTO_ERROR_MEMORY.
 *
 * @owner  The caller, until sotto_guard_destroy().
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_guard_create(sotto_str config, sotto_guard** guard);

/**
 * Destroys a guard. Streams that it has opened continue to work. NULL or a guard that is already destroyed
 * has no effect. Never waits.
 *
 * @param guard  The guard.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API void SOTTO_CALL sotto_guard_destroy(sotto_guard* guard);

/**
 * Checks a whole text. Never waits; takes time linear in the text.
 *
 * @param guard    The guard.
 * @param stage    A SOTTO_GUARD_ value.
 * @param text     UTF-8 text, at most 16 MiB.
 * @param verdict  Out: the verdict, one JSON object; the empty string on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_UNSUPPORTED (the stage needs models) or
 *         SOTTO_ERROR_MEMORY.
 *
 * @owner  `verdict`: the calling thread, until its next call that returns JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_guard_check(sotto_guard* guard, sotto_guard_stage stage, sotto_str text, sotto_str* verdict);

/**
 * Starts to check a text that arrives in pieces. Never waits.
 *
 * @param guard   The guard.
 * @param stage   A SOTTO_GUARD_ value.
 * @param stream  Out: the new stream, or NULL on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_UNSUPPORTED (the stage needs models), SOTTO_ERROR_BUSY
 *         or SOTTO_ERROR_MEMORY.
 *
 * @owner  The caller, until sotto_guard_stream_close().
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_guard_open_stream(sotto_guard* guard, sotto_guard_stage stage, sotto_guard_stream** stream);

/**
 * Adds a piece of the text and returns what may be shown. Never waits.
 *
 * Holds back the shortest end of the text that may still become part of something to find. Once a checker has
 * blocked the text, `released` is what precedes the finding, and is empty in all later calls.
 *
 * @param stream    The stream.
 * @param text      The piece, at most 16 MiB; may end inside a UTF-8 character.
 * @param released  Out: text that may be shown, rewritten where a checker says so. May be empty.
 * @param blocked   Out: nonzero once a checker has blocked the text. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_STATE (already finished) or SOTTO_ERROR_MEMORY (the
 *         stream then releases nothing more).
 *
 * @owner  `released`: the calling thread, until its next call that returns JSON.
 * @thread One at a time per stream.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_guard_stream_feed(sotto_guard_stream* stream, sotto_str text, sotto_str* released, int32_t* blocked);

/**
 * Ends the text and returns the rest that may be shown. Never waits.
 *
 * @param stream    The stream.
 * @param released  Out: text that may be shown. May be empty.
 * @param blocked   Out: nonzero if a checker has blocked the text. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_STATE (already finished) or SOTTO_ERROR_MEMORY.
 *
 * @owner  `released`: the calling thread, until its next call that returns JSON.
 * @thread One at a time per stream.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_guard_stream_finish(sotto_guard_stream* stream, sotto_str* released, int32_t* blocked);

/**
 * Returns the verdict on the text so far. Never waits.
 *
 * @param stream   The stream.
 * @param verdict  Out: the verdict, one JSON object; the empty string on failure.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT or SOTTO_ERROR_MEMORY.
 *
 * @owner  `verdict`: the calling thread, until its next call that returns JSON.
 * @thread One at a time per stream.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_guard_stream_verdict(sotto_guard_stream* stream, sotto_str* verdict);

/**
 * Closes a stream and drops what it holds back. NULL or a stream that is already closed has no effect. Never
 * waits.
 *
 * @param stream  The stream.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API void SOTTO_CALL sotto_guard_stream_close(sotto_guard_stream* stream);

#ifdef __cplusplus
}
#endif
#endif
