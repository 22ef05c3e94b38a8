/* A backend inside the host: an innkeeper that answers by keyword, one word a step, run by the engine like a
 * model.
 *
 * Compile and run it from the repository root. OUT is the folder of libsotto.so, here that of tests/check.py:
 *
 *     OUT=$PWD/build/check/release/out
 *     cc samples/c/backend.c -I include -L "$OUT" -Wl,-rpath,"$OUT" -lsotto -o build/backend
 *     build/backend
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sotto/module.h>
#include <sotto/sotto.h>

enum { MAX_STREAMS = 4, MAX_TEXT = 256, WEIGHTS = 4096 };

typedef struct inn {
    const char* answers[3][2]; /* keyword and answer */
} inn;

typedef struct stream {
    const char* next; /* the words that are not said yet */
} stream;

static const inn the_inn = {{
    {"ale", "Ale is three copper, friend."},
    {"room", "A room is nine copper, and the stairs are steep."},
    {"road", "The road north is closed until the thaw."},
}};

static sotto_str text(const char* literal) {
    const sotto_str made = {literal, SOTTO_NUL};
    return made;
}

/* Opens a model. Runs on the loader thread; sotto_model_info begins as zeros. */
static sotto_status SOTTO_CALL open_model(
    void* self, const sotto_model_source* source, void** model, sotto_model_info* info, sotto_str* reason
) {
    (void)source, (void)reason;
    *model = self;
    info->streams = MAX_STREAMS;
    info->weights = WEIGHTS;
    info->operations = SOTTO_OPERATION_CHAT;
    return SOTTO_OK;
}

static void SOTTO_CALL close_model(void* self, void* model) {
    (void)self, (void)model;
}

/* Copies the content of the last message, in lower case: enough for keywords, and no JSON parser. */
static void last_message(sotto_str body, char* out) {
    static const char key[] = "\"content\"";
    size_t begin = 0;
    for (size_t i = 0; i + sizeof key <= body.size; ++i) {
        begin = memcmp(body.data + i, key, sizeof key - 1) == 0 ? i + sizeof key - 1 : begin;
    }
    size_t length = 0;
    for (size_t i = begin; begin != 0 && i < body.size && length + 1 < MAX_TEXT; ++i) {
        out[length++] = (char)tolower((unsigned char)body.data[i]);
    }
    out[length] = '\0';
}

/* Opens a stream: chooses the answer, and reports the length of the prompt in words. */
static sotto_status SOTTO_CALL open_stream(
    void* self,
    void* model,
    const sotto_stream_desc* desc,
    void** opened,
    sotto_stream_info* info,
    sotto_str* reason
) {
    const inn* house = self;
    char asked[MAX_TEXT];
    stream* made = calloc(1, sizeof *made);
    (void)model;
    if (made == NULL) {
        *reason = text("out of host memory");
        return SOTTO_ERROR_MEMORY;
    }
    last_message(desc->body, asked);
    made->next = "Ask me about the inn.";
    info->prompt_tokens = 1;
    for (size_t i = 0; i < sizeof house->answers / sizeof *house->answers; ++i) {
        made->next = strstr(asked, house->answers[i][0]) != NULL ? house->answers[i][1] : made->next;
    }
    for (const char* at = asked; *at != '\0'; ++at) {
        info->prompt_tokens += *at == ' ';
    }
    *opened = made;
    return SOTTO_OK;
}

static void SOTTO_CALL close_stream(void* self, void* model, void* closed) {
    (void)self, (void)model;
    free(closed);
}

/* Works on one item of a step: the prompt as far as the engine asks, then a word. */
static void work(sotto_step_item* item) {
    stream* one = item->stream;
    item->evaluated = item->tokens < item->remaining ? item->tokens : item->remaining;
    item->remaining -= item->evaluated;
    if (item->remaining != 0) {
        return;
    }
    if (*one->next == '\0') {
        item->finish = SOTTO_FINISH_STOP;
        return;
    }
    const size_t word = 1 + strcspn(one->next + 1, " "); /* with the space before it */
    item->text.data = one->next;
    item->text.size = word;
    item->generated = 1;
    one->next += word;
}

static sotto_status SOTTO_CALL step(void* self, void* model, const sotto_step* step, sotto_str* reason) {
    (void)self, (void)model, (void)reason;
    for (uint32_t i = 0; i < step->count; ++i) {
        work(step->items[i]);
    }
    return SOTTO_OK;
}

static int fail(const char* doing) {
    const sotto_str why = sotto_last_error();
    fprintf(stderr, "%s: %.*s\n", doing, (int)why.size, why.data);
    return 1;
}

/* Prints the text of a private request until it ends. A game polls once a frame instead: frame_loop.c. */
static int finish(sotto_engine* engine, sotto_request request) {
    sotto_event event = SOTTO_INIT(sotto_event);
    do {
        if (sotto_engine_wait_request_event(engine, request, -1, &event) != SOTTO_OK) {
            return fail("wait");
        }
        if (event.kind == SOTTO_EVENT_TEXT) {
            printf("%.*s", (int)event.text.size, event.text.data);
        }
    } while (event.kind != SOTTO_EVENT_REQUEST_DONE);
    if (event.status < 0) {
        fprintf(stderr, "the request failed: %.*s\n", (int)event.error.size, event.error.data);
    }
    return event.status < 0;
}

static int load(sotto_engine* engine) {
    sotto_model_desc model = SOTTO_INIT(sotto_model_desc);
    sotto_request request;
    model.id = text("innkeeper");
    model.backend = text("inn"); /* an added backend opens the models that name it */
    model.flags = SOTTO_REQUEST_PRIVATE;
    return sotto_engine_load_model(engine, &model, &request) < 0 ? fail("load") : finish(engine, request);
}

static int ask(sotto_engine* engine, const char* question) {
    char body[2 * MAX_TEXT];
    sotto_request_desc desc = SOTTO_INIT(sotto_request_desc);
    sotto_request request;
    snprintf(
        body,
        sizeof body,
        "{\"model\": \"innkeeper\", \"messages\": [{\"role\": \"user\", \"content\": \"%s\"}]}",
        question
    );
    desc.op = SOTTO_OP_CHAT;
    desc.body = text(body);
    desc.flags = SOTTO_REQUEST_PRIVATE;
    printf("> %s\n", question);
    if (sotto_engine_submit(engine, &desc, &request) < 0) {
        return fail("submit");
    }
    const int failed = finish(engine, request);
    printf("\n");
    return failed;
}

int main(void) {
    sotto_engine* engine;
    if (sotto_engine_create(NULL, &engine) < 0) {
        return fail("create");
    }
    sotto_backend backend = SOTTO_INIT(sotto_backend);
    backend.name = text("inn");
    backend.self = (void*)&the_inn; /* no function writes to it */
    backend.open = open_model;
    backend.close = close_model;
    backend.stream_open = open_stream;
    backend.stream_close = close_stream;
    backend.step = step;
    int failed = sotto_engine_add_backend(engine, &backend) < 0 ? fail("add") : load(engine);
    failed = failed || ask(engine, "How much is an ale?");
    failed = failed || ask(engine, "Do you have a room?");
    failed = failed || ask(engine, "Any news?");
    sotto_engine_destroy(engine);
    return failed;
}
