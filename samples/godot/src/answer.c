#include <stdlib.h>
#include <string.h>

#include "speech.h"

static struct {
    Answer** items; /* in the order of the questions */
    int count, capacity;
} live;

static void init(void* self, GDExtensionObjectPtr object) {
    ((Answer*)self)->object = object;
}

static void end(void* self) {
    Answer* answer = self;
    gd_drop(answer->line);
    free(answer->text);
    free(answer->error);
}

Answer* answer_new(Character* owner, const Value* line) {
    if (live.count == live.capacity) {
        const int capacity = 2 * live.capacity + 8;
        Answer** grown = realloc(live.items, (size_t)capacity * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        live.items = grown;
        live.capacity = capacity;
    }
    void* self;
    GDExtensionObjectPtr object = gd_create(&answer_class, &self);
    Answer* answer = self;
    answer->self = gd_object(object);
    answer->owner = owner;
    answer->state = WAITING;
    answer->line = gd_copy(line);
    live.items[live.count++] = answer;
    return answer;
}

void answer_fail(Answer* answer, sotto_status status, const char* error) {
    answer->state = ENDED;
    answer->status = status;
    answer->error = copied(str(error));
}

static void cancel(void* self, int index, const Value* argument, Value* result) {
    (void)index, (void)argument, (void)result;
    Answer* answer = self;
    if (answer->state == RUNNING) {
        sotto_engine_cancel(engine, answer->request); /* its last event follows */
    } else if (answer->state == WAITING) {
        answer_fail(answer, SOTTO_ERROR_CANCELLED, "cancelled");
    }
}

void answers_orphan(Character* owner) {
    for (int i = 0; i < live.count; ++i) {
        if (live.items[i]->owner == owner) {
            cancel(live.items[i], 0, NULL, NULL);
            live.items[i]->owner = NULL;
        }
    }
}

static void take(Answer* answer, const sotto_event* event) {
    char* grown =
        event->kind == SOTTO_EVENT_TEXT ? realloc(answer->text, answer->size + event->text.size) : NULL;
    if (grown != NULL) {
        memcpy(grown + answer->size, event->text.data, event->text.size);
        answer->text = grown;
        answer->size += event->text.size;
    }
    if (event->kind != SOTTO_EVENT_REQUEST_DONE) {
        return;
    }
    if (answer->owner != NULL && answer->owner->speaking == answer) {
        answer->owner->speaking = NULL;
    }
    if (answer->fork[0] != '\0') {
        sotto_engine_close_session(engine, str(answer->fork), 0, NULL);
    }
    answer->state = ENDED;
    answer->status = event->status;
    answer->error = copied(event->error);
}

static void take_event(const sotto_event* event) {
    const bool done = event->kind == SOTTO_EVENT_REQUEST_DONE;
    const Model* loaded = done ? engine_loaded(event->request, event->status >= 0) : NULL;
    bool told = loaded == NULL || event->status >= 0; /* of a failed load, an answer or the log tells */
    for (int i = 0; i < live.count; ++i) {
        Answer* answer = live.items[i];
        if (answer->state == RUNNING && answer->request == event->request) {
            take(answer, event);
        } else if (answer->state == WAITING && loaded != NULL && answer->model == loaded) {
            event->status < 0 ? take(answer, event) : character_submit(answer);
            told = true;
        }
    }
    if (!told) {
        char* reason = copied(event->error);
        gd_error(reason == NULL ? "out of memory" : reason);
        free(reason);
    }
}

static void emit(const Answer* answer, const char* signal, const char* text, size_t size, const char* error) {
    Value args[] = {gd_name(signal), gd_text(text, size), error == NULL ? (Value){{0}} : gd_chars(error)};
    gd_drop(gd_call(answer->object, "emit_signal", args, error == NULL ? 2 : 3));
}

void answers_deliver(void) {
    sotto_event event = SOTTO_INIT(sotto_event);
    while (engine != NULL && sotto_engine_next_event(engine, &event) == SOTTO_OK) {
        take_event(&event);
    }
    const int count = live.count; /* handlers may add more */
    int kept = 0;
    for (int i = 0; i < count; ++i) {
        Answer* answer = live.items[i];
        const size_t shown = answer->shown;
        answer->shown = answer->size;
        if (answer->size > shown) {
            emit(answer, "text_added", answer->text + shown, answer->size - shown, NULL);
        }
        if (answer->state == ENDED) {
            answer->state = DONE;
            emit(answer, "finished", answer->text, answer->size, answer->error == NULL ? "" : answer->error);
        }
    }
    for (int i = 0; i < live.count; ++i) {
        if (live.items[i]->state == DONE) {
            gd_drop(live.items[i]->self);
        } else {
            live.items[kept++] = live.items[i];
        }
    }
    live.count = kept;
}

void answers_end(void) {
    for (int i = 0; i < live.count; ++i) {
        live.items[i]->state = DONE;
        gd_drop(live.items[i]->self);
    }
    free(live.items);
    memset(&live, 0, sizeof live);
}

static void get(void* self, int index, const Value* argument, Value* result) {
    (void)argument;
    const Answer* answer = self;
    const char* error = answer->error == NULL ? "" : answer->error;
    const int64_t numbers[] = {answer->status, (int64_t)answer->request};
    switch (index) {
    case 0:
        *result = gd_text(answer->text, answer->shown);
        break;
    case 1:
        *result = gd_chars(error);
        break;
    case 2:
        *result = gd_bool(answer->state == DONE);
        break;
    default:
        *result = gd_int(numbers[index - 3]);
    }
}

static const Method methods[] = {{"cancel", cancel}, {NULL}};
static const Accessor accessors[] = {
    {{"text", TEXT}, {"get_text", get, 0, {"", TEXT}}},
    {{"error", TEXT}, {"get_error", get, 1, {"", TEXT}}},
    {{"done", BOOL}, {"is_done", get, 2, {"", BOOL}}},
    {{"status", INT}, {"get_status", get, 3, {"", INT}}},
    {{"request", INT}, {"get_request", get, 4, {"", INT}}},
    {{NULL}},
};
static const char* const signals[] = {"text_added", "finished", NULL};
const Class answer_class = {
    "SottoAnswer",
    "RefCounted",
    sizeof(Answer),
    init,
    end,
    NULL,
    methods,
    accessors,
    signals,
};
