/**
 * @file sotto/base.h
 * Types every other header stands on: export macros, strings, statuses.
 */
#ifndef SOTTO_BASE_H
#define SOTTO_BASE_H

#include <stddef.h>
#include <stdint.h>

/* SOTTO_API: functions of the library. SOTTO_EXPORT: the one function that a module shows. */
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

/** The library's version, and the only place it is written. */
#define SOTTO_VERSION "0.1.0"

/** A zeroed struct that knows its size: `sotto_engine_desc d = SOTTO_INIT(sotto_engine_desc);` */
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

/** A length that means "up to the terminating NUL". Only for strings passed in. */
#define SOTTO_NUL SIZE_MAX

/**
 * UTF-8 bytes that somebody else owns.
 *
 * Passed in: `size` counts bytes, or is SOTTO_NUL. `{NULL, 0}` is the empty string.
 * Handed out: `size` always counts; there is no NUL after the last byte.
 * Frozen: this struct never grows.
 */
typedef struct sotto_str {
    const char* data; /**< First byte. NULL only when empty. */
    size_t      size; /**< Bytes, or SOTTO_NUL. */
} sotto_str;

/** What a call came to. Zero and above: it did its work. Below zero: it did nothing. */
typedef int32_t sotto_status;
enum {
    SOTTO_OK                = 0,
    SOTTO_EMPTY             = 1,   /**< Nothing now, or nothing of that name. Not an error. */
    SOTTO_ERROR_ARGUMENT    = -1,  /**< A NULL, a bad size, a value out of range, a bad request. */
    SOTTO_ERROR_UNSUPPORTED = -2,  /**< Valid, but not in this build, driver, model or library. */
    SOTTO_ERROR_MEMORY      = -3,  /**< Host memory ran out. */
    SOTTO_ERROR_BUDGET      = -4,  /**< It would go over the memory budget. */
    SOTTO_ERROR_STATE       = -5,  /**< Right call, wrong time. */
    SOTTO_ERROR_INTERNAL    = -6,  /**< A defect of ours. Please report it. */
    SOTTO_ERROR_NOT_FOUND   = -7,  /**< No model or session is there by that id; no file at that path. */
    SOTTO_ERROR_MODEL       = -8,  /**< The file is no model that a backend here can run. */
    SOTTO_ERROR_INFERENCE   = -9,  /**< The model began, and could not go on. */
    SOTTO_ERROR_CANCELLED   = -10, /**< The host cancelled it, or closed what it ran on. */
    SOTTO_ERROR_BUSY        = -11, /**< As many as can be are live. Take some events, or wait. */
    SOTTO_ERROR_DEVICE      = -12  /**< The graphics card was lost in the middle of it. Ask again. */
};

/**
 * Names the library's version, as `major.minor.patch`. Never waits.
 *
 * @return The same text as SOTTO_VERSION had when the library was built.
 *
 * @owner  The library, for ever.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_str SOTTO_CALL sotto_version(void);

/**
 * Says why the last failing call on this thread failed. Never waits.
 *
 * Only for calls that return a status: what goes wrong later, on a worker, is
 * told by the event that ends the request.
 *
 * @return One line of English, without a newline. Empty if nothing failed yet.
 *
 * @owner  The thread, until its next failing call.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_str SOTTO_CALL sotto_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
