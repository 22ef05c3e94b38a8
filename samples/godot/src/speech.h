/* What the parts of the addon have in common. */
#ifndef SOTTO_GODOT_SPEECH_H
#define SOTTO_GODOT_SPEECH_H

#include <sotto/sotto.h>

#include "gd.h"

extern sotto_engine* engine; /* NULL until a character needs it */
extern Class character_class, answer_class;

/* The status of a call, and why it failed. */
typedef struct Outcome {
    sotto_status status;
    sotto_str reason;
} Outcome;
Outcome outcome(sotto_status status);                          /* of a function of libsotto */
Outcome failure(sotto_status status, const char* format, ...); /* valid until the thread's next failure */
bool report(Outcome outcome);                                  /* Logs a failure. Returns true on success. */
#define STR(text) ((sotto_str){text, SOTTO_NUL})

Outcome engine_open(void); /* creates the engine if there is none */
void engine_begin_frame(void);
/* Takes the engine's events, then emits signals: a question of a handler is answered in a later frame. */
void answers_deliver(void);
/* Drops the answers that are done, or all, without signals. */
void answers_drop(bool all);

#endif
