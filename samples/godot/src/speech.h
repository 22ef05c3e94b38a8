/* The engine, its models, and the classes `SottoCharacter` and `SottoAnswer`. */
#ifndef SOTTO_GODOT_SPEECH_H
#define SOTTO_GODOT_SPEECH_H

#include <sotto/sotto.h>

#include "gd.h"

typedef struct Model {
    struct Model* next;
    sotto_request loading; /* 0: not requested, or ended */
    bool ready;
    char id[1]; /* as long as the model's name or path */
} Model;

enum { SHEET, MODEL, PACE, PRIORITY, MAX_TOKENS, OPTIONS, FIELDS };
typedef struct Character {
    GDExtensionObjectPtr object;
    Value fields[FIELDS];
    struct Answer* speaking; /* the answer that extends the conversation; others answer in forks of it */
    bool opened;             /* the conversation */
    char session[40];
} Character;

typedef struct Answer {
    GDExtensionObjectPtr object;
    Value self;       /* a reference that keeps the answer until its signal `finished` */
    Character* owner; /* NULL once it was freed */
    enum { DONE, WAITING, RUNNING, ENDED } state;
    Value line;
    const Model* model; /* whose load a WAITING answer waits for */
    char *text, *error;
    size_t size, shown; /* bytes of `text`; those that signals carried */
    sotto_request request;
    sotto_status status;
    char fork[64]; /* the conversation of an answer beside `speaking` */
} Answer;

extern sotto_engine* engine; /* NULL until a character needs it */
extern const sotto_file_access godot_files;
extern const Class engine_class, character_class, answer_class;

/* A NUL-terminated text for the library. */
sotto_str str(const char* text);

/* A NUL-terminated copy, to be freed. NULL: out of memory. */
char* copied(sotto_str text);
/* The reason of the last failed call; valid until the next call of this function. */
const char* last_error(void);

/* Creates the engine if there is none. NULL, or the reason why there is none. */
const char* engine_open(void);
void engine_close(void);
void engine_begin_frame(void);
void engine_end_frame(void);
/* Returns a model, and starts to load it unless it is ready or loading. NULL: see sotto_last_error(). */
Model* engine_model(const char* id);
/* Returns the model that a request loaded, which is ready if `ready`. NULL: the request did something else.
 */
const Model* engine_loaded(sotto_request request, bool ready);

/* Lets this thread ask. */
void character_main_thread(void);
/* Submits an answer whose model is ready. */
void character_submit(Answer* answer);

/* Makes a live answer; its signals begin with the next frame. NULL: out of memory. */
Answer* answer_new(Character* owner, const Value* line);
void answer_fail(Answer* answer, sotto_status status, const char* error);
/* Cancels the answers of a character that is freed. */
void answers_orphan(Character* owner);
/* Takes the engine's events, then emits signals: a question of a handler is answered in a later frame. */
void answers_deliver(void);
/* Drops the live answers without signals. */
void answers_end(void);

#endif
