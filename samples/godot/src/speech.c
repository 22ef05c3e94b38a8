/* The classes `SottoCharacter` and `SottoAnswer`. */
#include <stdio.h>
#include <stdlib.h>

#include "speech.h"

#define MADE_UP "godot-"  /* beginning of ids of conversations that are made up */
enum { MAY_BE_OPEN = 1 }; /* user data of opening a conversation of a given id */

/* Those that live, in the order of the questions. Only the main thread may read or change the list. */
static Answer* answers;
static int answer_count;

Answer* answer_new(Character* owner, Value* result) {
    void* made;
    const GDExtensionObjectPtr object = gd_create(&answer_class, &made);
    Answer *answer = made, **last = &answers;
    answer->self = gd_object(object);
    answer->owner = owner;
    answer->state = WAITING;
    *result = gd_copy(&answer->self);
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = answer;
    ++answer_count;
    if (owner != NULL) {
        ++owner->live;
    }
    return answer;
}

void answer_end(Answer* answer, Outcome outcome, sotto_str json) {
    if (answer->state == ENDED || answer->state == DONE) {
        return; /* cancelled before */
    }
    if (json.size > 0) {
        gd_replace(&answer->results[TEXT_SO_FAR], gd_text(json.data, json.size));
        answer->shown = INT64_MAX; /* no speech */
    }
    if (json.size > 0 && json.data[0] == '[') {
        gd_replace(&answer->results[DATA], GD_STATIC("JSON", "parse_string", gd_text(json.data, json.size)));
    }
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

static void fail(Answer* answer, Outcome outcome) {
    answer_end(answer, outcome, (sotto_str){0});
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
        fail(answer, loading);
    }
}

/* Opens a conversation, as a copy of `from` if that is not empty. `id` is its id, or empty for one that is
 * made up; it is empty after a failure. A conversation of a given id that is open already continues. */
static Outcome open_session(const Character* character, char* id, const char* from) {
    static unsigned long long count;
    static int64_t began_ms; /* so that a save game has no id of another run */
    const bool given = id[0] != '\0';
    began_ms = began_ms == 0 ? now_ms() : began_ms;
    sotto_session_desc desc = SOTTO_INIT(sotto_session_desc);
    char* sheet = gd_to_chars(gd_copy(&character->fields[SHEET]));
    char* model = gd_to_chars(gd_copy(&character->fields[MODEL]));
    if (!given) {
        snprintf(id, ID_SIZE, MADE_UP "%llx-%llu", (unsigned long long)began_ms, ++count);
    }
    desc.id = STR(id);
    desc.from = STR(from);
    desc.system = STR(sheet);
    desc.model = STR(model);
    desc.user = given ? MAY_BE_OPEN : 0;
    Outcome opened = outcome(sotto_engine_open_session(engine, &desc, NULL));
    if (given && opened.status >= 0) {
        opened = outcome(sotto_engine_set_session_system(engine, desc.id, desc.system, 0, NULL));
    }
    id[0] = opened.status < 0 ? '\0' : id[0];
    free(sheet);
    free(model);
    return opened;
}

/* Opens the conversation of a character, unless it is open. */
static Outcome open_own_session(Character* character) {
    if (character->session[0] != '\0') {
        return outcome(SOTTO_OK);
    }
    char* id = gd_to_chars(gd_copy(&character->fields[SESSION_ID]));
    snprintf(character->session, ID_SIZE, "%s", id == NULL ? "" : id);
    free(id);
    memory_begin(character);
    return open_session(character, character->session, "");
}

void answer_submit(Answer* answer) {
    Character* character = answer->owner;
    answer->request = 0;
    memory_follow(character);
    if (memory_recall(answer)) {
        return;
    }
    Outcome said = open_own_session(character);
    if (said.status >= 0 && character->speaking != NULL) {
        said = open_session(character, answer->fork, character->session);
    } else if (said.status >= 0) {
        character->speaking = answer;
    }
    said = said.status < 0 ? said : memory_prompt(answer);
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
        fail(answer, said);
    } else {
        answer->state = RUNNING;
        gd_replace(&answer->results[REQUEST], gd_int((int64_t)answer->request));
    }
}

static void ask(void* self, int index, const Value* argument, Value* result) {
    Answer* answer = answer_new(self, result);
    answer->line = gd_to_chars(gd_copy(argument));
    answer->owner->session[0] != '\0' ? answer_submit(answer) : load(self, answer);
}

static void cancel(void* self, int index, const Value* argument, Value* result) {
    Answer* answer = self;
    if (answer->state == RUNNING) {
        sotto_engine_cancel(engine, answer->request); /* its last event follows */
    } else if (answer->state == WAITING) {
        fail(answer, failure(SOTTO_ERROR_CANCELLED, "cancelled"));
    }
}

/* Lets go of the conversation. Closes it if no other character can have its id, or if `is_over`. */
static void leave(Character* character, bool is_over) {
    const sotto_str id = STR(character->session);
    const bool is_own = strncmp(character->session, MADE_UP, strlen(MADE_UP)) == 0;
    if (character->session[0] != '\0' && (is_over || is_own)) {
        sotto_engine_close_session(engine, id, 0, NULL);
    }
    character->session[0] = '\0';
    character->speaking = NULL; /* continues, but is not remembered */
    free(character->prompt);
    character->prompt = NULL;
}

static void forget(void* self, int index, const Value* argument, Value* result) {
    Character* character = self;
    char* id = gd_to_chars(gd_copy(&character->fields[SESSION_ID]));
    if (engine != NULL && id != NULL && id[0] != '\0') {
        report(open_own_session(character)); /* an earlier character may have opened it */
    }
    free(id);
    leave(character, true);
}

/* Returns why a value cannot be set, or success. */
static Outcome check(int index, const Value* value) {
    if (index == SESSION_ID) {
        char* id = gd_to_chars(gd_copy(value));
        const size_t bytes = id == NULL ? 0 : strlen(id);
        free(id);
        const char* format = "invalid session_id of %zu bytes: expected at most 128";
        return bytes <= 128 ? outcome(SOTTO_OK) : failure(SOTTO_ERROR_ARGUMENT, format, bytes);
    }
    if (index == MEMORY && gd_to_object(value) != NULL && gd_instance(&store_class, value) == NULL) {
        return failure(SOTTO_ERROR_ARGUMENT, "invalid memory: expected a SottoStore or null");
    }
    if (index != MAX_TOKENS && index != RECALLED) {
        return outcome(SOTTO_OK);
    }
    const int64_t limit = gd_to_int(gd_copy(value)), most = index == RECALLED ? 100 : UINT32_MAX;
    const char* format = index == RECALLED
                             ? "invalid recalled '%lld': expected 0 to 100"
                             : "invalid max_tokens '%lld': expected 0 to 4294967295; 0 sets no limit";
    const bool is_valid = limit >= 0 && limit <= most;
    return is_valid ? outcome(SOTTO_OK) : failure(SOTTO_ERROR_ARGUMENT, format, (long long)limit);
}

static void set(void* self, int index, const Value* argument, Value* result) {
    Character* character = self;
    if (!report(check(index, argument)) || (character->live > 0 && !gd_in_main_thread("set"))) {
        return;
    }
    gd_replace(&character->fields[index], gd_copy(argument));
    if (index == SESSION_ID) {
        leave(character, false);
    } else if (index == MODEL) {
        leave(character, true);
        for (Answer* answer = character->live > 0 ? answers : NULL; answer != NULL; answer = answer->next) {
            if (answer->owner == character && answer->state == WAITING) {
                load(character, answer);
            }
        }
    } else if (index == SHEET && character->session[0] != '\0') {
        char* sheet = gd_to_chars(gd_copy(argument));
        const sotto_str session = STR(character->session);
        report(outcome(sotto_engine_set_session_system(engine, session, STR(sheet), 0, NULL)));
        free(character->prompt);
        character->prompt = sheet;
    }
}

/* Ends the answer of a save game. A game that was restored ends the answers of the one before. */
static void end_file(Answer* answer, Outcome done, sotto_str json) {
    if (answer->restores && done.status >= 0) {
        ++games_restored;
        for (Answer* other = answers; other != NULL; other = other->next) {
            if (other->line != NULL) {
                cancel(other, 0, NULL, NULL);
            }
        }
    }
    answer_end(answer, done, done.status < 0 ? (sotto_str){0} : json);
}

static void take_event(const sotto_event* event) {
    const Outcome done = {event->status, event->error};
    Answer* answer = answers;
    while (answer != NULL && answer->request != event->request) {
        answer = answer->next;
    }
    if (answer == NULL) {
        const bool is_known = done.status == SOTTO_ERROR_STATE && event->user == MAY_BE_OPEN;
        if (!jobs_take_event(event) && !is_known) {
            report(done); /* of a request that no answer waits for */
        }
    } else if (event->kind == SOTTO_EVENT_TEXT) {
        Value *text = &answer->results[TEXT_SO_FAR], added = gd_text(event->text.data, event->text.size);
        gd_replace(text, GD_CALL(*text, "insert", GD_GET(*text, "length"), added));
    } else if (event->kind == SOTTO_EVENT_REQUEST_DONE && answer->state == WAITING && event->status >= 0) {
        answer_submit(answer);
    } else if (event->kind == SOTTO_EVENT_REQUEST_DONE && answer->line == NULL) {
        end_file(answer, done, event->json);
    } else if (event->kind == SOTTO_EVENT_REQUEST_DONE) {
        if (event->status >= 0 && answer->owner != NULL) {
            memory_keep(answer);
        }
        fail(answer, done);
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
    jobs_advance();
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

static void free_answer(void* self) {
    free(((Answer*)self)->line);
    free(((Answer*)self)->prompt);
}

static void character_init(void* self, GDExtensionObjectPtr object) {
    Character* character = self;
    character->object = object;
    gd_replace(&character->fields[MODEL], gd_chars("sotto/house"));
    gd_replace(&character->fields[MAX_TOKENS], gd_int(128));
    gd_replace(&character->fields[RECALLED], gd_int(4));
}

static void character_end(void* self) {
    Character* character = self;
    for (Answer* answer = character->live > 0 ? answers : NULL; answer != NULL; answer = answer->next) {
        if (answer->owner == self) {
            cancel(answer, 0, NULL, NULL);
            answer->owner = NULL;
        }
    }
    leave(character, false);
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
            {"tell", memory_add, .result = {"", OBJECT, 0, "SottoAnswer"}, .params = {{"fact", TEXT}}},
            {"overhear",
             memory_add,
             .result = {"", OBJECT, 0, "SottoAnswer"},
             .params = {{"text", TEXT}},
             .index = 1},
        },
    .properties = {
        {"sheet", TEXT, MULTILINE},
        {"model", TEXT, FILE_NAME, "*.gguf"},
        {"pace", REAL, RANGE, "0,60,0.5,or_greater,suffix:tokens/s"},
        {"priority", INT, ENUM, "Background:-1,Normal:0,Foreground:1"},
        {"max_tokens", INT, RANGE, "0,1024,1,or_greater"},
        {"options", DICTIONARY},
        {"session_id", TEXT},
        {"memory", OBJECT, RESOURCE, "SottoStore"},
        {"recalled", INT, RANGE, "0,32,1,or_greater"},
    },
};
Class answer_class = {
    .name = "SottoAnswer",
    .parent = "RefCounted",
    .size = sizeof(Answer),
    .end = free_answer,
    .get = answer_get,
    .methods =
        {
            {"cancel", cancel},
            {"text_added", .params = {{"text", TEXT}}},
            {"finished", .params = {{"text", TEXT}, {"error", TEXT}}},
        },
    .properties = {
        {"text", TEXT}, {"error", TEXT}, {"done", BOOL}, {"status", INT}, {"request", INT}, {"data", ARRAY}
    },
};
