/* The classes `SottoCharacter` and `SottoAnswer`. */
#include <stdio.h>
#include <stdlib.h>

#include "speech.h"

enum { SHEET, MODEL, PACE, PRIORITY, MAX_TOKENS, OPTIONS, FIELDS };
typedef struct Character {
    Value fields[FIELDS];
    GDExtensionObjectPtr object;
    struct Answer* speaking; /* the answer that extends the conversation; others answer in forks of it */
    bool opened;             /* the conversation, with a model that is loaded */
    char session[40];
} Character;

enum { TEXT_SO_FAR, ERROR, IS_DONE, STATUS, REQUEST, RESULTS };
typedef struct Answer {
    Value results[RESULTS];
    Value self; /* a reference that keeps the answer until its signal `finished` */
    struct Answer* next;
    Character* owner; /* NULL once it was freed */
    enum { DONE, WAITING, RUNNING, ENDED } state;
    sotto_request request; /* WAITING: the load of the model; RUNNING: the answer; else 0 */
    char *line, *text;
    size_t size, shown; /* bytes of `text`; those that signals carried */
    char fork[64];      /* the conversation of an answer beside `speaking` */
} Answer;

enum { PRELOAD = 1 };   /* marks the load of a model that no answer waits for */
static Answer* answers; /* those that live, in the order of the questions */
_Thread_local bool is_main_thread;

static void end_answer(Answer* answer, sotto_status status, sotto_str error) {
    gd_replace(&answer->results[STATUS], gd_int(status));
    gd_replace(&answer->results[ERROR], gd_text(error.data, error.size));
    answer->state = ENDED;
    answer->request = 0;
    if (answer->owner != NULL && answer->owner->speaking == answer) {
        answer->owner->speaking = NULL;
    }
    if (answer->fork[0] != '\0') {
        sotto_engine_close_session(engine, str(answer->fork), 0, NULL);
    }
}

/* Starts to load a character's model, for an answer or (NULL) for later ones. */
static void load(const Character* character, Answer* answer) {
    sotto_request ignored, *request = answer == NULL ? &ignored : &answer->request;
    sotto_model_desc desc = SOTTO_INIT(sotto_model_desc);
    char* id = gd_to_chars(gd_copy(&character->fields[MODEL]));
    desc.id = str(id);
    desc.user = answer == NULL ? PRELOAD : 0;
    sotto_str reason = engine_open();
    reason = reason.size == 0 ? reason_of(sotto_engine_load_model(engine, &desc, request)) : reason;
    free(id);
    if (answer == NULL) {
        report(reason);
    } else if (reason.size != 0) {
        end_answer(answer, SOTTO_ERROR_UNSUPPORTED, reason);
    }
}

/* Opens the character's conversation, or a fork of it if an answer extends it already. */
static void open_session(Character* character, Answer* answer) {
    static unsigned long long forks;
    sotto_session_desc desc = SOTTO_INIT(sotto_session_desc), fork = desc;
    char* sheet = gd_to_chars(gd_copy(&character->fields[SHEET]));
    char* model = gd_to_chars(gd_copy(&character->fields[MODEL]));
    desc.id = fork.from = str(character->session);
    desc.system = str(sheet);
    desc.model = str(model);
    if (!character->opened) {
        sotto_engine_open_session(engine, &desc, NULL);
        character->opened = true;
    }
    if (character->speaking == NULL) {
        character->speaking = answer;
    } else {
        snprintf(answer->fork, sizeof answer->fork, "%s-%llu", character->session, ++forks);
        fork.id = str(answer->fork);
        sotto_engine_open_session(engine, &fork, NULL);
    }
    free(sheet);
    free(model);
}

/* Submits an answer whose model is loaded. */
static void submit(Answer* answer) {
    Character* character = answer->owner;
    open_session(character, answer);
    char* options = gd_to_chars(GD_STATIC("JSON", "stringify", gd_copy(&character->fields[OPTIONS])));
    double pace = 0;
    gd_read(REAL, &character->fields[PACE], &pace);
    sotto_say_desc say = SOTTO_INIT(sotto_say_desc);
    say.session = str(answer->fork[0] != '\0' ? answer->fork : character->session);
    say.text = str(answer->line);
    say.fields = str(options);
    say.target_tps = (float)pace;
    say.priority = (sotto_priority)gd_to_int(gd_copy(&character->fields[PRIORITY]));
    say.max_tokens = (uint32_t)gd_to_int(gd_copy(&character->fields[MAX_TOKENS]));
    const sotto_status status = sotto_engine_say(engine, &say, &answer->request);
    answer->state = RUNNING;
    gd_replace(&answer->results[REQUEST], gd_int((int64_t)answer->request));
    if (status < 0) {
        end_answer(answer, SOTTO_ERROR_ARGUMENT, sotto_last_error());
    }
    free(options);
}

static void ask(void* self, int index, const Value* argument, Value* result) {
    if (!is_main_thread) {
        report(str("SottoCharacter.ask() was called outside the main thread; use call_deferred()"));
        return;
    }
    void* made;
    const GDExtensionObjectPtr object = gd_create(&answer_class, &made);
    Answer *answer = made, **last = &answers;
    answer->self = gd_object(object);
    answer->line = gd_to_chars(gd_copy(argument));
    answer->owner = self;
    answer->state = WAITING;
    *result = gd_copy(&answer->self);
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = answer;
    answer->owner->opened ? submit(answer) : load(self, answer);
}

static void cancel(void* self, int index, const Value* argument, Value* result) {
    Answer* answer = self;
    if (answer->state == RUNNING) {
        sotto_engine_cancel(engine, answer->request); /* its last event follows */
    } else if (answer->state == WAITING) {
        end_answer(answer, SOTTO_ERROR_CANCELLED, str("cancelled"));
    }
}

static void forget(void* self, int index, const Value* argument, Value* result) {
    Character* character = self;
    if (character->opened && engine != NULL) {
        sotto_engine_close_session(engine, str(character->session), 0, NULL);
    }
    character->opened = false;
    character->speaking = NULL; /* continues, but is not remembered */
}

static void set(void* self, int index, const Value* argument, Value* result) {
    Character* character = self;
    if (index == MAX_TOKENS && gd_to_int(gd_copy(argument)) < 0) {
        report(str("invalid max_tokens below 0: expected 0 or more; 0 sets no limit"));
        return;
    }
    gd_replace(&character->fields[index], gd_copy(argument));
    if (index == MODEL) {
        forget(self, 0, NULL, NULL);
        for (Answer* answer = answers; answer != NULL; answer = answer->next) {
            if (answer->owner == character && answer->state == WAITING) {
                load(character, answer);
            }
        }
    } else if (index == SHEET && character->opened) {
        char* sheet = gd_to_chars(gd_copy(argument));
        sotto_engine_set_session_system(engine, str(character->session), str(sheet), 0, NULL);
        free(sheet);
    }
}

static void take_text(Answer* answer, sotto_str text) {
    char* grown = realloc(answer->text, answer->size + text.size);
    if (grown != NULL) {
        memcpy(grown + answer->size, text.data, text.size);
        answer->text = grown;
        answer->size += text.size;
    }
}

static void take_event(const sotto_event* event) {
    Answer* answer = answers;
    while (answer != NULL && answer->request != event->request) {
        answer = answer->next;
    }
    if (answer == NULL) {
        report(event->user == PRELOAD ? event->error : str(NULL));
    } else if (event->kind == SOTTO_EVENT_TEXT) {
        take_text(answer, event->text);
    } else if (event->kind == SOTTO_EVENT_REQUEST_DONE && answer->state == WAITING && event->status >= 0) {
        submit(answer);
    } else if (event->kind == SOTTO_EVENT_REQUEST_DONE) {
        end_answer(answer, event->status, event->error);
    }
}

/* Emits the signals of an answer. Their handlers may ask, cancel and free the character. */
static void emit(Answer* answer) {
    if (answer->size > answer->shown) {
        const Value added = gd_text(answer->text + answer->shown, answer->size - answer->shown);
        answer->shown = answer->size;
        gd_replace(&answer->results[TEXT_SO_FAR], gd_text(answer->text, answer->size));
        gd_drop(GD_CALL(answer->self, "emit_signal", gd_chars("text_added"), added));
    }
    if (answer->state == ENDED) {
        const Value text = gd_copy(&answer->results[TEXT_SO_FAR]), error = gd_copy(&answer->results[ERROR]);
        answer->state = DONE;
        gd_replace(&answer->results[IS_DONE], gd_bool(true));
        gd_drop(GD_CALL(answer->self, "emit_signal", gd_chars("finished"), text, error));
    }
}

void answers_deliver(void) {
    sotto_event event = SOTTO_INIT(sotto_event);
    while (engine != NULL && sotto_engine_next_event(engine, &event) == SOTTO_OK) {
        take_event(&event);
    }
    int count = 0; /* without those that handlers add */
    for (const Answer* answer = answers; answer != NULL; answer = answer->next) {
        ++count;
    }
    for (Answer* answer = answers; count > 0; answer = answer->next, --count) {
        emit(answer);
    }
    answers_drop(false);
}

void answers_drop(bool all) {
    for (Answer** link = &answers; *link != NULL;) {
        Answer* answer = *link;
        if (all || answer->state == DONE) {
            *link = answer->next;
            answer->state = DONE;
            gd_drop(answer->self);
        } else {
            link = &answer->next;
        }
    }
}

static void answer_end(void* self) {
    free(((Answer*)self)->line);
    free(((Answer*)self)->text);
}

static void character_init(void* self, GDExtensionObjectPtr object) {
    Character* character = self;
    const unsigned long long id = gd.object_get_instance_id(object);
    character->object = object;
    gd_replace(&character->fields[MODEL], gd_chars("sotto/house"));
    gd_replace(&character->fields[MAX_TOKENS], gd_int(128));
    snprintf(character->session, sizeof character->session, "godot-%llu", id);
}

static void character_end(void* self) {
    for (Answer* answer = answers; answer != NULL; answer = answer->next) {
        if (answer->owner == self) {
            cancel(answer, 0, NULL, NULL);
            answer->owner = NULL;
        }
    }
    forget(self, 0, NULL, NULL);
}

static void notified(GDExtensionClassInstancePtr self, int32_t what, GDExtensionBool reversed) {
    enum { READY = 13, INTERNAL_PROCESS = 25 };
    if (what == INTERNAL_PROCESS) {
        engine_begin_frame();
    } else if (what == READY && gd_to_int(GD_GET(gd_singleton("Engine"), "is_editor_hint")) == 0) {
        gd_drop(GD_CALL(gd_object(((Character*)self)->object), "set_process_internal", gd_bool(true)));
        load(self, NULL);
    }
}

enum { RANGE = 1, ENUM = 2, FILE_NAME = 13, MULTILINE = 18 }; /* PropertyHints */
Class character_class = {
    .name = "SottoCharacter",
    .parent = "Node",
    .size = sizeof(Character),
    .init = character_init,
    .end = character_end,
    .notified = notified,
    .set = set,
    .methods =
        {
            {"ask", ask, .result = {"", OBJECT, 0, "SottoAnswer"}, .params = {{"text", TEXT}}},
            {"forget", forget},
        },
    .properties = {
        {"sheet", TEXT, MULTILINE},
        {"model", TEXT, FILE_NAME, "*.gguf"},
        {"pace", REAL, RANGE, "0,60,0.5,or_greater,suffix:tokens/s"},
        {"priority", INT, ENUM, "Background:-1,Normal:0,Foreground:1"},
        {"max_tokens", INT, RANGE, "0,1024,1,or_greater"},
        {"options", DICTIONARY},
    },
};
Class answer_class = {
    .name = "SottoAnswer",
    .parent = "RefCounted",
    .size = sizeof(Answer),
    .end = answer_end,
    .methods =
        {
            {"cancel", cancel},
            {"text_added", .params = {{"text", TEXT}}},
            {"finished", .params = {{"text", TEXT}, {"error", TEXT}}},
        },
    .properties = {{"text", TEXT}, {"error", TEXT}, {"done", BOOL}, {"status", INT}, {"request", INT}},
};
