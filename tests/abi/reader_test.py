"""Holds bindgen's reader to what it must refuse in a public header, and to what it must understand."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "native/bindgen"))
from pycparser.c_parser import ParseError

import emit
import header

GOOD = """\
#ifndef SOTTO_TRY_H
#define SOTTO_TRY_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
/** Frozen: this struct never grows. */
typedef struct sotto_str {
    const char* data;
    size_t      size;
} sotto_str;
typedef struct sotto_engine sotto_engine;
/** What. */
typedef uint32_t sotto_flags;
enum { SOTTO_FLAGS_ONE = 1, /**< One. */ SOTTO_FLAGS_LOW = -0x10 };
typedef void(SOTTO_CALL* sotto_log_fn)(void* self, sotto_flags flags);
/**
 * Settings.
 *
 * @since 0.1
 */
typedef struct sotto_desc {
    uint32_t           struct_size; /**< Size. */
    sotto_flags        flags;
    sotto_log_fn       write;
    sotto_str          event;
    const sotto_str* const* others;
} sotto_desc;
/**
 * Makes one.
 *
 * @param desc  What is asked for.
 * @owner  The caller.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_flags SOTTO_CALL sotto_engine_create(const sotto_desc* desc, sotto_engine** engine);
/**
 * Says something. Never waits.
 *
 * @owner  The thread.
 * @thread One at a time per engine.
 * @since  0.1
 */
SOTTO_API sotto_str SOTTO_CALL sotto_engine_say(sotto_engine* engine);
#ifdef __cplusplus
}
#endif
#endif
"""
SAY = "SOTTO_API sotto_str SOTTO_CALL sotto_engine_say(sotto_engine* engine);"
FIELDS = [
    ("uint32_t", 0),
    ("sotto_flags", 4),
    ("sotto_log_fn", 8),
    ("sotto_str", 16),
    ("const sotto_str* const*", 32),
]
BAD = {  # what is wrong: what to replace, with what
    "no @thread": (" * @thread Any.\n", ""),
    "no @since of a function": ("per engine.\n * @since  0.1\n", "per engine.\n"),
    "no @owner of a thing": (" * @owner  The caller.\n", ""),
    "no @owner of text": (" * @owner  The thread.\n", ""),
    "an empty @owner": ("@owner  The caller.", "@owner"),
    "no @since of a struct": (" * Settings.\n *\n * @since 0.1\n", " * Settings.\n"),
    "threads in other words": ("One at a time per engine.", "Careful."),
    "no word on waiting": ("Never waits.", ""),
    "a parameter that is none": ("@param desc ", "@param description "),
    "padding before a field": ("    sotto_flags        flags;\n", ""),
    "padding at the end": ("    const sotto_str* const* others;", "    float others;"),
    "no struct_size": ("uint32_t           struct_size;", "uint32_t           size;"),
    "a struct_size of another type": ("uint32_t           struct_size;", "int32_t struct_size;"),
    "a bool": ("    sotto_flags        flags;", "    bool flags;"),
    "a long": ("    sotto_flags        flags;", "    long flags;"),
    "a bit-field": ("    sotto_flags        flags;", "    sotto_flags flags : 32;"),
    "an array": ("    sotto_flags        flags;", "    sotto_flags flags[1];"),
    "a union": ("    sotto_flags        flags;", "    union { sotto_flags a; float b; } u;"),
    "an unknown type": ("    sotto_str          event;", "    sotto_text* event;"),
    "a struct that may grow inside another": (
        SAY,
        "typedef struct sotto_more { uint32_t struct_size; uint32_t r; sotto_desc d; } sotto_more;",
    ),
    "a struct by value that may grow": ("(const sotto_desc* desc,", "(sotto_desc desc,"),
    "an inline function pointer": ("    sotto_log_fn       write;", "    void (*write)(void* self);"),
    "a function pointer without SOTTO_CALL": ("(SOTTO_CALL* sotto_log_fn)", "(*sotto_log_fn)"),
    "a function pointer by another name": ("sotto_log_fn", "sotto_log"),
    "a function without SOTTO_API": ("SOTTO_API sotto_str", "sotto_str"),
    "a function without SOTTO_CALL": ("sotto_str SOTTO_CALL", "sotto_str"),
    "an argument without a name": ("say(sotto_engine* engine)", "say(sotto_engine*)"),
    "no (void)": ("say(sotto_engine* engine)", "say()"),
    "more arguments": ("sotto_engine* engine);", "sotto_engine* engine, ...);"),
    "a named enum": ("enum {", "enum sotto_flag {"),
    "an enum without a type": ("typedef uint32_t sotto_flags;\n", "typedef uint64_t sotto_flags;\n"),
    "a reckoned constant": ("SOTTO_FLAGS_ONE = 1,", "SOTTO_FLAGS_ONE = 1 << 3,"),
    "a constant without a value": ("SOTTO_FLAGS_ONE = 1,", "SOTTO_FLAGS_ONE,"),
    "a constant no int holds": ("SOTTO_FLAGS_ONE = 1,", "SOTTO_FLAGS_ONE = 0x80000000,"),
    "a variable": (SAY, "SOTTO_API int32_t sotto_count;"),
    "a foreign name": ("SOTTO_FLAGS_ONE", "FLAGS_ONE"),
    "a name twice": ("SOTTO_FLAGS_LOW", "SOTTO_FLAGS_ONE"),
    "a struct by another name": ("typedef struct sotto_desc {", "typedef struct sotto_settings {"),
    "another macro": ("#include <stdint.h>", "#define SOTTO_MAX(a, b) ((a) > (b) ? (a) : (b))"),
    "another header": ("#include <stdint.h>", "#include <stdio.h>"),
    "another condition": ("#ifdef __cplusplus\n}", "#if SOTTO_BETA\n}"),
}


def refused(text: str) -> bool:
    try:
        header.Reader({"try.h": text})
    except (SyntaxError, ParseError):
        return True
    return False


def problems() -> list[str]:
    """What the reader took though it should not, or did not understand."""
    api = header.Reader({"try.h": GOOD}).api
    written = emit.csharp.write(api)
    wrong = [f"reader: {what} changes nothing" for what, (old, _) in BAD.items() if old not in GOOD]
    wrong += [f"reader: takes {what}" for what, change in BAD.items() if not refused(GOOD.replace(*change))]
    understood = (
        [(f.type, f.offset) for f in api.structs["sotto_desc"].fields] == FIELDS
        and api.constants == {"SOTTO_FLAGS_ONE": 1, "SOTTO_FLAGS_LOW": -16}
        and api.callbacks == {"sotto_log_fn": ("void", [("void*", "self"), ("sotto_flags", "flags")])}
        and "public IntPtr write;" in written
        and "public sotto_str @event;" in written
        and "public sotto_str** others;" in written
    )
    wrong += [] if understood else ["reader: misunderstands the sample"]
    return wrong


def main() -> int:
    wrong = problems()
    print("\n".join(wrong) or f"reader: refuses {len(BAD)} ways to offend")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
