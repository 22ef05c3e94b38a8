/* What the parts of the addon have in common. */
#ifndef SOTTO_GODOT_SPEECH_H
#define SOTTO_GODOT_SPEECH_H

#include <sotto/sotto.h>

#include "gd.h"

extern sotto_engine* engine; /* NULL until a character needs it */
extern Class character_class, answer_class;
extern _Thread_local bool is_main_thread;

sotto_str str(const char* text);
/* Why something failed; empty: it succeeded. report() logs a reason, and returns true if it is empty. */
bool report(sotto_str reason);
sotto_str reason_of(sotto_status status);

/* Creates the engine if there is none. */
sotto_str engine_open(void);
void engine_begin_frame(void);

/* Takes the engine's events, then emits signals: a question of a handler is answered in a later frame. */
void answers_deliver(void);
/* Drops the answers that are done, or all, without signals. */
void answers_drop(bool all);

#endif
