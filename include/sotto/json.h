/**
 * @file sotto/json.h
 * Helpers for hosts without a JSON library: quotes text for request bodies, and reads a field of an answer.
 */
#ifndef SOTTO_JSON_H
#define SOTTO_JSON_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Writes text as a JSON string, quotes included and NUL-terminated, for use in request bodies. Never waits.
 *
 * @param text      UTF-8 text.
 * @param buffer    Out: the JSON string. NULL if `capacity` is 0.
 * @param capacity  Bytes of `buffer`. `6 * text.size + 3` always suffices.
 * @param size      Out: length of the JSON string in bytes, without the NUL; also if the buffer is too small.
 *                  NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT (the buffer is too small, it then holds an empty string; or `text`
 *         is not UTF-8) or SOTTO_ERROR_MEMORY.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_json_quote(sotto_str text, char* buffer, size_t capacity, size_t* size);

/**
 * Reads a field of a JSON object that may be incomplete, such as an answer that is still being written: a
 * character can speak its field `say` while the rest of its decision is generated. Never waits.
 *
 * Pass the text of the SOTTO_EVENT_TEXT events so far, joined. Reads only fields of the outermost object. A
 * string is decoded and only grows from call to call: it ends before an incomplete escape or character. Any
 * other value (such as `messages` of a session that was read) is JSON, and is there once the object is
 * complete. Copy a value before the next call.
 *
 * @param json      The object, or its beginning.
 * @param name      Name of the field.
 * @param value     Out: the field's value so far. Empty if the field is absent, null or not there yet.
 * @param complete  Out: nonzero if all of the value was read. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT or SOTTO_ERROR_MEMORY.
 *
 * @owner  `value`: the calling thread, until its next call that returns JSON.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_json_field(sotto_str json, sotto_str name, sotto_str* value, int32_t* complete);

#ifdef __cplusplus
}
#endif
#endif
