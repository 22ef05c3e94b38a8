/* Says what an engine finds, as JSON, and on the next line a few words that a model writes: whether a build
 * runs on a processor at all, and which of its modules it takes there.
 *
 *     say MODEL.gguf
 */
#include <stdio.h>

#include <sotto/sotto.h>

static int fail(const char* doing, sotto_str why) {
    fprintf(stderr, "%s: %.*s\n", doing, (int)why.size, why.data);
    return 1;
}

/* Prints the text of a private request. */
static int follow(sotto_engine* engine, sotto_request request, const char* doing) {
    sotto_event event = SOTTO_INIT(sotto_event);
    while (event.kind != SOTTO_EVENT_REQUEST_DONE) {
        if (sotto_engine_wait_request_event(engine, request, -1, &event) < 0) {
            return fail(doing, sotto_last_error());
        }
        if (event.kind == SOTTO_EVENT_TEXT) {
            printf("%.*s", (int)event.text.size, event.text.data);
        }
    }
    return event.status < 0 ? fail(doing, event.error) : 0;
}

static int load(sotto_engine* engine, const char* path) {
    const sotto_str id = {"npc", SOTTO_NUL};
    const sotto_str file = {path, SOTTO_NUL};
    const sotto_str options = {"{\"context\": 128, \"parallel\": 1}", SOTTO_NUL};
    sotto_model_desc model = SOTTO_INIT(sotto_model_desc);
    sotto_request request;
    model.id = id;
    model.path = file;
    model.options = options;
    model.flags = SOTTO_REQUEST_PRIVATE;
    if (sotto_engine_load_model(engine, &model, &request) < 0) {
        return fail("load", sotto_last_error());
    }
    return follow(engine, request, "load");
}

static int write_words(sotto_engine* engine) {
    const sotto_str body = {
        "{\"model\": \"npc\", \"temperature\": 0, \"max_tokens\": 16, \"messages\": ["
        "{\"role\": \"system\", \"content\": \"Name: Mara\\nRole: smith\"}, "
        "{\"role\": \"user\", \"content\": \"Who are you?\"}]}",
        SOTTO_NUL,
    };
    sotto_request_desc ask = SOTTO_INIT(sotto_request_desc);
    sotto_request request;
    ask.op = SOTTO_OP_CHAT;
    ask.body = body;
    ask.flags = SOTTO_REQUEST_PRIVATE;
    if (sotto_engine_submit(engine, &ask, &request) < 0) {
        return fail("write", sotto_last_error());
    }
    return follow(engine, request, "write");
}

int main(int argc, char** argv) {
    sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
    sotto_threads threads = SOTTO_INIT(sotto_threads);
    sotto_engine* engine;
    sotto_str found;
    if (argc != 2) {
        fprintf(stderr, "usage: say MODEL.gguf\n");
        return 2;
    }
    threads.compute_threads = 1; /* more would wait for each other, on a machine that is busy */
    desc.threads = &threads;
    desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    if (sotto_engine_create(&desc, &engine) < 0) {
        return fail("create", sotto_last_error());
    }
    if (sotto_engine_describe(engine, &found) < 0) {
        return fail("describe", sotto_last_error());
    }
    printf("%.*s\n", (int)found.size, found.data);
    if (load(engine, argv[1]) != 0 || write_words(engine) != 0) {
        return 1;
    }
    printf("\n");
    sotto_engine_destroy(engine);
    return 0;
}
