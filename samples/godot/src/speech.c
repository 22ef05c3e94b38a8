/* The classes `SottoCharacter` and `SottoAnswer`. */
#include <stdio.h>
#include <stdlib.h>

#include "speech.h"

enum { ID_SIZE = 32 };
enum { SHEET, MODEL, PACE, PRIORITY, MAX_TOKENS, OPTIONS, FIELDS };
typedef struct Character {
    Value fields[FIELDS];
    GDExtensionObjectPtr object;
    struct Answer* speaking; /* the answer that extends the conversation; others answer in forks of it */
    int live;                /* number of its entries in `answers`; 0: other threads may use the character */
    char session[ID_SIZE];   /* id of the conversation; empty: not open, and the model may not be loaded */
} Character;

enum { TEXT_SO_FAR, ERROR, IS_DONE, STATUS, REQUEST, RESULTS };
typedef struct Answer {
    Value results[RESULTS];
    Value self; /* a reference that keeps the answer until its signal `finished` */
    struct Answer* next;
    Character* owner; /* NULL once it was freed */
    enum { DONE, WAITING, RUNNING, ENDED } state;
    sotto_request request; /* WAITING: the load of the model; RUNNING: the answer; else 0 */
    char* line;
    int64_t shown;      /* characters of the text that signals carried */
    char fork[ID_SIZE]; /* id of the conversation of an answer beside `speaking` */
} Answer;

/* Those that live, in the order of the questions. Only the main thread may read or change the list. */
static Answer* answers;
static int answer_count;

static void end_answer(Answer* answer, Outcome outcome) {
    gd_replace(&answer->results[STATUS], gd_int(outcome.status));
    gd_replace(&answer->results[ERROR], gd_text(outcome.reason.data, outcome.reason.size));
    answer->state = ENDED;
    answer->request = 0;
    if (answer->owner != NULL && answer->owner->speaking == answer) {
        answer->owner->speaking = NULL;
    }
    if (answer->fork[0] != '\0') {
        sotto_engine_close_session(engine, STR(answer->fork), 0, NULL);
    }
}

/* Starts to load a character's model, for an answer or (NULL) for later ones. */
static void load(const Character* character, Answer* answer) {
    sotto_request ignored, *request = answer == NULL ? &ignored : &answer->request;
    sotto_model_desc desc = SOTTO_INIT(sotto_model_desc);
    char* id = gd_to_chars(gd_copy(&character->fields[MODEL]));
    desc.id = STR(id);
    Outcome loading = engine_open();
    loading = loading.status < 0 ? loading : outcome(sotto_engine_load_model(engine, &desc, request));
    free(id);
    if (answer == NULL) {
        report(loading);
    } else if (loading.status < 0) {
        end_answer(answer, loading);
    }
}

/* Opens a conversation, as a copy of `from` if that is not empty. `id` stays empty on failure. */
static Outcome open_session(const Character* character, char* id, const char* from) {
    static unsigned long long count;
    sotto_session_desc desc = SOTTO_INIT(sotto_session_desc);
    char* sheet = gd_to_chars(gd_copy(&character->fields[SHEET]));
    char* model = gd_to_chars(gd_copy(&character->fields[MODEL]));
    snprintf(id, ID_SIZE, "godot-%llu", ++count);
    desc.id = STR(id);
    desc.from = STR(from);
    desc.system = STR(sheet);
    desc.model = STR(model);
    const Outcome opened = outcome(sotto_engine_open_session(engine, &desc, NULL));
    id[0] = opened.status < 0 ? '\0' : id[0];
    free(sheet);
    free(model);
    return opened;
}

/* Submits an answer whose model is loaded, in a fork of the conversation if another answer extends it. */
static void submit(Answer* answer) {
    Character* character = answer->owner;
    Outcome said = outcome(SOTTO_OK);
    if (character->session[0] == '\0') {
        said = open_session(character, character->session, "");
    }
    if (said.status >= 0 && character->speaking != NULL) {
        said = open_session(character, answer->fork, character->session);
    } else if (said.status >= 0) {
        character->speaking = answer;
    }
    char* options = gd_to_chars(GD_STATIC("JSON", "stringify", gd_copy(&character->fields[OPTIONS])));
    double pace;
    gd_read(REAL, &character->fields[PACE], &pace);
    sotto_say_desc say = SOTTO_INIT(sotto_say_desc);
    say.session = STR(answer->fork[0] != '\0' ? answer->fork : character->session);
    say.text = STR(answer->line);
    say.fields = STR(options);
    say.target_tps = (float)pace;
    say.priority = (sotto_priority)gd_to_int32(gd_copy(&character->fields[PRIORITY]));
    say.max_tokens = (uint32_t)gd_to_int(gd_copy(&character->fields[MAX_TOKENS]));
    said = said.status < 0 ? said : outcome(sotto_engine_say(engine, &say, &answer->request));
    free(options);
    if (said.status < 0) {
        end_answer(answer, said);
    } else {
        answer->state = RUNNING;
        gd_replace(&answer->results[REQUEST], gd_int((int64_t)answer->request));
    }
}

static void ask(void* self, int index, const Value* argument, Value* result) {
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
    ++answer_count;
    ++answer->owner->live;
    answer->owner->session[0] != '\0' ? submit(answer) : load(self, answer);
}

static void cancel(void* self, int index, const Value* argument, Value* result) {
    Answer* answer = self;
    if (answer->state == RUNNING) {
        sotto_engine_cancel(engine, answer->request); /* its last event follows */
    } else if (answer->state == WAITING) {
        end_answer(answer, failure(SOTTO_ERROR_CANCELLED, "cancelled"));
    }
}

static void forget(void* self, int index, const Value* argument, Value* result) {
    Character* character = self;
    if (character->session[0] != '\0') {
        sotto_engine_close_session(engine, STR(character->session), 0, NULL);
        character->session[0] = '\0';
        character->speaking = NULL; /* continues, but is not remembered */
    }
}

static void set(void* self, int index, const Value* argument, Value* result) {
    Character* character = self;
    const int64_t limit = index == MAX_TOKENS ? gd_to_int(gd_copy(argument)) : 0;
    if (limit < 0 || limit > UINT32_MAX) {
        const char* format = "invalid max_tokens '%lld': expected 0 to 4294967295; 0 sets no limit";
        report(failure(SOTTO_ERROR_ARGUMENT, format, (long long)limit));
        return;
    }
    if (character->live > 0 && !gd_in_main_thread("set")) {
        return;
    }
    gd_replace(&character->fields[index], gd_copy(argument));
    if (index == MODEL) {
        forget(self, 0, NULL, NULL);
        for (Answer* answer = character->live > 0 ? answers : NULL; answer != NULL; answer = answer->next) {
            if (answer->owner == character && answer->state == WAITING) {
                load(character, answer);
            }
        }
    } else if (index == SHEET && character->session[0] != '\0') {
        char* sheet = gd_to_chars(gd_copy(argument));
        const sotto_str session = STR(character->session);
        report(outcome(sotto_engine_set_session_system(engine, session, STR(sheet), 0, NULL)));
        free(sheet);
    }
}

static void take_event(const sotto_event* event) {
    const Outcome done = {event->status, event->error};
    Answer* answer = answers;
    while (answer != NULL && answer->request != event->request) {
        answer = answer->next;
    }
    if (answer == NULL) {
        report(done); /* of a request that no answer waits for */
    } else if (event->kind == SOTTO_EVENT_TEXT) {
        Value *text = &answer->results[TEXT_SO_FAR], added = gd_text(event->text.data, event->text.size);
        gd_replace(text, GD_CALL(*text, "insert", GD_GET(*text, "length"), added));
    } else if (event->kind == SOTTO_EVENT_REQUEST_DONE && answer->state == WAITING && event->status >= 0) {
        submit(answer);
    } else if (event->kind == SOTTO_EVENT_REQUEST_DONE) {
        end_answer(answer, done);
    }
}

/* Emits the signals of an answer. Their handlers may ask, cancel and free the character. */
static void emit(Answer* answer) {
    const Value* text = &answer->results[TEXT_SO_FAR];
    const int64_t length = gd_to_int(GD_GET(*text, "length"));
    if (length > answer->shown) {
        const Value added = GD_CALL(*text, "substr", gd_int(answer->shown));
        answer->shown = length;
        gd_drop(GD_CALL(answer->self, "emit_signal", gd_chars("text_added"), added));
    }
    if (answer->state == ENDED) {
        const Value error = gd_copy(&answer->results[ERROR]);
        gd_replace(&answer->results[IS_DONE], gd_bool(true));
        answer->state = DONE;
        gd_drop(GD_CALL(answer->self, "emit_signal", gd_chars("finished"), gd_copy(text), error));
    }
}

void answers_deliver(void) {
    sotto_event event = SOTTO_INIT(sotto_event);
    while (engine != NULL && sotto_engine_next_event(engine, &event) == SOTTO_OK) {
        take_event(&event);
    }
    int left = answer_count; /* without those that handlers add */
    for (Answer* answer = answers; left > 0; answer = answer->next, --left) {
        emit(answer);
    }
    answers_drop(false);
}

void answers_drop(bool all) {
    for (Answer** link = &answers; *link != NULL;) {
        Answer* answer = *link;
        if (!all && answer->state != DONE) {
            link = &answer->next;
            continue;
        }
        *link = answer->next;
        answer->state = DONE;
        --answer_count;
        if (answer->owner != NULL) {
            --answer->owner->live;
        }
        gd_drop(answer->self);
    }
}

/* Other threads may read an answer that is done. */
static void answer_get(void* self, int index, const Value* argument, Value* result) {
    if (((Answer*)self)->state == DONE || gd_in_main_thread("SottoAnswer.get")) {
        gd_get(self, index, argument, result);
    }
}

static void answer_end(void* self) {
    free(((Answer*)self)->line);
}

static void character_init(void* self, GDExtensionObjectPtr object) {
    Character* character = self;
    character->object = object;
    gd_replace(&character->fields[MODEL], gd_chars("sotto/house"));
    gd_replace(&character->fields[MAX_TOKENS], gd_int(128));
}

static void character_end(void* self) {
    Character* character = self;
    for (Answer* answer = character->live > 0 ? answers : NULL; answer != NULL; answer = answer->next) {
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
    .get = answer_get,
    .methods =
        {
            {"cancel", cancel},
            {"text_added", .params = {{"text", TEXT}}},
            {"finished", .params = {{"text", TEXT}, {"error", TEXT}}},
        },
    .properties = {{"text", TEXT}, {"error", TEXT}, {"done", BOOL}, {"status", INT}, {"request", INT}},
};
