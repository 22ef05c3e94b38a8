/**
 * @file sotto/base.h
 * Base definitions for all other headers: export macros, version, strings, status codes.
 */
#ifndef SOTTO_BASE_H
#define SOTTO_BASE_H

#include <stddef.h>
#include <stdint.h>

/* SOTTO_API marks the library's functions. SOTTO_EXPORT marks the one function that a module exports. */
#if defined(_WIN32)
#  define SOTTO_CALL __cdecl
#  define SOTTO_EXPORT __declspec(dllexport)
#  if defined(SOTTO_BUILDING)
#    define SOTTO_API __declspec(dllexport)
#  else
#    define SOTTO_API __declspec(dllimport)
#  endif
#else
#  define SOTTO_CALL
#  define SOTTO_EXPORT __attribute__((visibility("default")))
#  define SOTTO_API SOTTO_EXPORT
#endif

/** Version of the library, `major.minor.patch`. This is its only definition. */
#define SOTTO_VERSION "0.1.0"

/** Returns a zeroed struct with `struct_size` set: `sotto_engine_desc d = SOTTO_INIT(sotto_engine_desc);` */
#ifdef __cplusplus
template <typename T>
inline T sotto_init() {
    T made           = T();
    made.struct_size = sizeof(T);
    return made;
}
#  define SOTTO_INIT(type) sotto_init<type>()
#else
#  define SOTTO_INIT(type) {.struct_size = (uint32_t)sizeof(type)}
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** As `size` of a sotto_str: the text ends at its NUL terminator. Only for strings passed to the library. */
#define SOTTO_NUL SIZE_MAX

/**
 * Non-owning view of UTF-8 text.
 *
 * Passed to the library: `size` is a number of bytes or SOTTO_NUL. `{NULL, 0}` is the empty string.
 * Returned by the library: `size` is always a number of bytes; the text is not NUL-terminated.
 * Frozen: this struct never grows.
 */
typedef struct sotto_str {
    const char* data; /**< First byte. NULL only when empty. */
    size_t      size; /**< Number of bytes, or SOTTO_NUL. */
} sotto_str;

/** Status of a call. Zero or positive: success. Negative: failure, without effect. */
typedef int32_t sotto_status;
enum {
    SOTTO_OK                = 0,
    SOTTO_EMPTY             = 1,   /**< No event is queued. Not an error. */
    SOTTO_ERROR_ARGUMENT    = -1,  /**< NULL pointer, invalid size, value out of range or invalid request. */
    SOTTO_ERROR_UNSUPPORTED = -2,  /**< Valid, but not supported by this build, driver, model or library. */
    SOTTO_ERROR_MEMORY      = -3,  /**< Out of host memory. */
    SOTTO_ERROR_BUDGET      = -4,  /**< Would exceed the memory budget. */
    SOTTO_ERROR_STATE       = -5,  /**< Valid call, but not in the current state. */
    SOTTO_ERROR_INTERNAL    = -6,  /**< Bug in Sotto. Please report it. */
    SOTTO_ERROR_NOT_FOUND   = -7,  /**< No such model, session, live request, card or file. */
    SOTTO_ERROR_MODEL       = -8,  /**< File is not a model that an available backend can run. */
    SOTTO_ERROR_INFERENCE   = -9,  /**< Inference started and failed. */
    SOTTO_ERROR_CANCELLED   = -10, /**< Cancelled, or the host closed its model, session, engine or card. */
    SOTTO_ERROR_BUSY        = -11, /**< Limit of live objects reached. Take pending events, or wait. */
    SOTTO_ERROR_DEVICE      = -12, /**< Graphics card lost during the request. Submit it again. */
    SOTTO_ERROR_BLOCKED     = -13  /**< A guardrail of the engine blocked the request's text. */
};

/**
 * Returns the library's version as `major.minor.patch`. Never waits.
 *
 * @return SOTTO_VERSION of the headers that the library was built with.
 *
 * @owner  The library. Stays valid while the library is loaded.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_str SOTTO_CALL sotto_version(void);

/**
 * Returns the error message of the last failed call on the calling thread. Never waits.
 *
 * Covers only calls that return a status. If a request fails later, on a worker thread, its final
 * event carries the error.
 *
 * @return One line of English, without a newline. Empty if no call failed yet.
 *
 * @owner  The calling thread, until its next failed call.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_str SOTTO_CALL sotto_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
