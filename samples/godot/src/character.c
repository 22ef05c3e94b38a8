#include <stdio.h>
#include <stdlib.h>

#include "speech.h"

static _Thread_local bool is_main_thread;

static void init(void* self, GDExtensionObjectPtr object) {
    Character* character = self;
    const unsigned long long id = gd.object_get_instance_id(object);
    GDExtensionCallError error;
    character->object = object;
    character->fields[SHEET] = gd_text("", 0);
    character->fields[MODEL] = gd_text("sotto/house", 11);
    character->fields[PACE] = gd_real(0);
    character->fields[PRIORITY] = gd_int(SOTTO_PRIORITY_NORMAL);
    character->fields[MAX_TOKENS] = gd_int(128);
    gd.variant_construct((GDExtensionVariantType)DICTIONARY, &character->fields[OPTIONS], NULL, 0, &error);
    snprintf(character->session, sizeof character->session, "godot-%llu", id);
}

static void forget(void* self, int index, const Value* argument, Value* result) {
    (void)index, (void)argument, (void)result;
    Character* character = self;
    if (character->opened && engine != NULL) {
        sotto_engine_close_session(engine, str(character->session), 0, NULL);
    }
    character->opened = false;
    character->speaking = NULL; /* continues, but is not remembered */
}

static void end(void* self) {
    Character* character = self;
    answers_orphan(character);
    forget(character, 0, NULL, NULL);
    for (int i = 0; i < FIELDS; ++i) {
        gd_drop(character->fields[i]);
    }
}

/* Returns the character's model, which loads if it is not ready. On failure, `reason` is set. */
static const Model* model_of(const Character* character, const char** reason) {
    char* id = gd_to_chars(&character->fields[MODEL]);
    *reason = engine_open();
    const Model* model = *reason == NULL && id != NULL ? engine_model(id) : NULL;
    *reason = *reason == NULL ? last_error() : *reason;
    free(id);
    return model;
}

static void notified(GDExtensionClassInstancePtr self, int32_t what, GDExtensionBool reversed) {
    (void)reversed;
    enum { READY = 13, INTERNAL_PROCESS = 25 };
    if (what == INTERNAL_PROCESS) {
        engine_begin_frame();
    } else if (what == READY && gd_to_int(GD_GET(gd_singleton("Engine"), "is_editor_hint")) == 0) {
        const char* reason;
        gd_drop(GD_CALL(((Character*)self)->object, "set_process_internal", gd_bool(true)));
        if (model_of(self, &reason) == NULL) {
            gd_error(reason);
        }
    }
}

/* Opens the character's conversation, or a fork of it if an answer extends it already. */
static void open_session(Character* character, Answer* answer) {
    static unsigned long long forks;
    sotto_session_desc desc = SOTTO_INIT(sotto_session_desc);
    char *sheet = gd_to_chars(&character->fields[SHEET]), *model = gd_to_chars(&character->fields[MODEL]);
    desc.id = str(character->session);
    desc.system = str(sheet);
    desc.model = str(model);
    if (!character->opened) {
        sotto_engine_open_session(engine, &desc, NULL);
        character->opened = true;
    }
    free(sheet);
    free(model);
    if (character->speaking == NULL) {
        character->speaking = answer;
        return;
    }
    snprintf(answer->fork, sizeof answer->fork, "%s-%llu", character->session, ++forks);
    desc = (sotto_session_desc)SOTTO_INIT(sotto_session_desc);
    desc.id = str(answer->fork);
    desc.from = str(character->session);
    sotto_engine_open_session(engine, &desc, NULL);
}

static int64_t number(const Character* character, int field) {
    return gd_to_int(gd_copy(&character->fields[field]));
}

void character_submit(Answer* answer) {
    Character* character = answer->owner;
    open_session(character, answer);
    const Value json = GD_STATIC("JSON", "stringify", gd_copy(&character->fields[OPTIONS]));
    char *line = gd_to_chars(&answer->line), *options = gd_to_chars(&json);
    double pace = 0;
    gd_read(REAL, &character->fields[PACE], &pace);
    sotto_say_desc say = SOTTO_INIT(sotto_say_desc);
    say.session = str(answer->fork[0] != '\0' ? answer->fork : character->session);
    say.text = str(line);
    say.fields = str(options);
    say.target_tps = (float)pace;
    say.priority = (sotto_priority)number(character, PRIORITY);
    say.max_tokens = (uint32_t)number(character, MAX_TOKENS);
    answer->state = RUNNING;
    if (sotto_engine_say(engine, &say, &answer->request) < 0) {
        character->speaking = character->speaking == answer ? NULL : character->speaking;
        answer_fail(answer, SOTTO_ERROR_ARGUMENT, last_error());
    }
    free(line);
    free(options);
    gd_drop(json);
}

static void ask(void* self, int index, const Value* argument, Value* result) {
    (void)index;
    const char* reason = "SottoCharacter.ask() was called outside the main thread; use call_deferred()";
    Answer* answer = is_main_thread ? answer_new(self, argument) : NULL;
    if (answer == NULL) {
        gd_error(is_main_thread ? "out of memory" : reason);
        return;
    }
    *result = gd_copy(&answer->self);
    answer->model = model_of(self, &reason);
    if (answer->model == NULL) {
        answer_fail(answer, SOTTO_ERROR_UNSUPPORTED, reason);
    } else if (answer->model->ready) {
        character_submit(answer);
    }
}

static void get(void* self, int index, const Value* argument, Value* result) {
    (void)argument;
    *result = gd_copy(&((Character*)self)->fields[index]);
}

static void set(void* self, int index, const Value* argument, Value* result) {
    (void)result;
    Character* character = self;
    if (index == MAX_TOKENS && gd_to_int(gd_copy(argument)) < 0) {
        gd_error("invalid max_tokens below 0: expected 0 or more; 0 sets no limit");
        return;
    }
    gd_drop(character->fields[index]);
    character->fields[index] = gd_copy(argument);
    if (index == MODEL) {
        forget(self, 0, NULL, NULL);
    } else if (index == SHEET && character->opened) {
        char* sheet = gd_to_chars(argument);
        sotto_engine_set_session_system(engine, str(character->session), str(sheet), 0, NULL);
        free(sheet);
    }
}

static const Method methods[] = {
    {"ask", ask, 0, {"", OBJECT, "SottoAnswer"}, {"text", TEXT}},
    {"forget", forget},
    {NULL},
};
#define FIELD(index, name, kind, ...)                                                                        \
    {                                                                                                        \
        {#name, kind, __VA_ARGS__}, {"get_" #name, get, index, {"", kind}}, {                                \
            "set_" #name, set, index, .param = {#name, kind}                                                 \
        }                                                                                                    \
    }
static const Accessor accessors[] = {
    FIELD(SHEET, sheet, TEXT, NULL, 18, ""),       /* 18: PROPERTY_HINT_MULTILINE_TEXT */
    FIELD(MODEL, model, TEXT, NULL, 13, "*.gguf"), /* 13: PROPERTY_HINT_FILE */
    FIELD(PACE, pace, REAL, NULL, 1, "0,60,0.5,or_greater,suffix:tokens/s"), /* 1: PROPERTY_HINT_RANGE */
    FIELD(
        PRIORITY, priority, INT, NULL, 2, "Background:-1,Normal:0,Foreground:1"
    ), /* 2: PROPERTY_HINT_ENUM */
    FIELD(MAX_TOKENS, max_tokens, INT, NULL, 1, "0,1024,1,or_greater"),
    FIELD(OPTIONS, options, DICTIONARY, NULL),
    {{NULL}},
};
const Class character_class = {
    "SottoCharacter",
    "Node",
    sizeof(Character),
    init,
    end,
    notified,
    methods,
    accessors,
    NULL,
};

void character_main_thread(void) {
    is_main_thread = true;
}
