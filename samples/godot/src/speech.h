/* What the parts of the addon have in common. */
#ifndef SOTTO_GODOT_SPEECH_H
#define SOTTO_GODOT_SPEECH_H

#include <sotto/sotto.h>

#include "gd.h"

extern sotto_engine* engine; /* NULL until a character needs it */
extern Class character_class, answer_class, store_class;

/* The status of a call, and why it failed. */
typedef struct Outcome {
    sotto_status status;
    sotto_str reason;
} Outcome;
Outcome outcome(sotto_status status);                          /* of a function of libsotto */
Outcome failure(sotto_status status, const char* format, ...); /* valid until the thread's next failure */
bool report(Outcome outcome);                                  /* Logs a failure. Returns true on success. */
#define STR(text) ((sotto_str){text, SOTTO_NUL})

enum { ID_SIZE = 132, RECENT = 16 };
enum { SHEET, MODEL, PACE, PRIORITY, MAX_TOKENS, OPTIONS, SESSION_ID, MEMORY, RECALLED, CHARACTER_FIELDS };
typedef struct Character {
    Value fields[CHARACTER_FIELDS];
    GDExtensionObjectPtr object;
    struct Answer* speaking; /* the answer that extends the conversation; others answer in forks of it */
    int live;                /* number of its entries in `answers`; 0: other threads may use the character */
    char session[ID_SIZE];   /* id of the conversation; empty: not open, and the model may not be loaded */
    char* prompt;            /* system message of the conversation; NULL: unknown */
    int restores;            /* number of games restored when the conversation was opened or followed */
    int64_t
        told_ms[RECENT]; /* when the latest exchanges were kept; before them, when the session was opened */
    unsigned exchanges;  /* number of exchanges kept */
} Character;

enum { TEXT_SO_FAR, ERROR, IS_DONE, STATUS, REQUEST, DATA, RESULTS };
typedef struct Answer {
    Value results[RESULTS];
    Value self; /* a reference that keeps the answer until its signal `finished` */
    struct Answer* next;
    Character* owner; /* NULL: none, or it was freed */
    enum { DONE, WAITING, RUNNING, ENDED } state;
    enum { NOT_RECALLED, RECALLING, HAS_RECALLED } recall; /* of the character's memories */
    bool restores;                                         /* a save game */
    sotto_request request; /* WAITING: the load of the model; RUNNING: the answer; else 0 */
    char* line;            /* what the character was asked; NULL: of a store or a save game */
    char* prompt;          /* system message with what was recalled; NULL: the character has no memory */
    int64_t shown;         /* characters of the text that signals carried */
    char fork[ID_SIZE];    /* id of the conversation of an answer beside `speaking` */
} Answer;

Outcome engine_open(void); /* creates the engine if there is none */
void engine_begin_frame(void);

/* Adds an answer to those that live. `result` gets a reference for the script. */
Answer* answer_new(Character* owner, Value* result);
/* Ends an answer that has not ended; its signal follows. `json`: its text, and its data if that is an array.
 */
void answer_end(Answer* answer, Outcome outcome, sotto_str json);
/* Continues an answer whose model is loaded: recalls memories, then submits it. */
void answer_submit(Answer* answer);
/* Takes the engine's events, then emits signals: a question of a handler is answered in a later frame. */
void answers_deliver(void);
/* Drops the answers that are done, or all, without signals. */
void answers_drop(bool all);

/* Work on a store. Text is embedded in the engine, then a thread of Godot's pool waits for the disk. */
typedef enum JobKind { INSERT, QUERY, REMOVE, CLOSE } JobKind;
typedef void JobDone(Answer* answer, Outcome outcome, sotto_str json);
/* Begins work on a SottoStore. `body`: a Dictionary, which is dropped: an entry, a query, or what to remove.
 * `done` runs in the main thread; `answer` lives until then. */
void job_begin(const Value* store, JobKind kind, Value body, JobDone* done, Answer* answer);
void report_job(Answer* answer, Outcome outcome, sotto_str json); /* a JobDone that logs a failure */
void jobs_advance(void);
bool jobs_take_event(const sotto_event* event); /* Returns false if no job waits for the event's request. */
void jobs_end(void);                            /* ends what waits for the disk, and drops the others */

int64_t now_ms(void); /* milliseconds since 1970 */
/* Begins to recall memories for an answer. Returns true if the answer has to wait; then they continue it. */
bool memory_recall(Answer* answer);
/* Sets the system message of an answer's conversation to the sheet and what was recalled. */
Outcome memory_prompt(Answer* answer);
void memory_keep(const Answer* answer);  /* keeps the exchange of a complete answer */
void memory_begin(Character* character); /* when its conversation is opened */
void memory_follow(
    Character* character
); /* once a game was restored: the sheet is still the character's own */
void memory_add(void*, int, const Value*, Value*); /* the methods tell() and overhear(); a Run */

/* Save games and guardrails: methods of `Sotto`, each a Run. */
extern sotto_guard* guard;
extern int games_restored;
void game_file(void*, int restores, const Value*, Value*);
void guard_check(void*, int stage, const Value*, Value*);
Outcome guard_open(const char* file); /* creates the guard if there is none; an empty name: checks nothing */
void guard_close(void);

#endif
