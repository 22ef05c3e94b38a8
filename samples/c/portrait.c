/* A portrait that the game paints while it runs: one image request, and a 60 FPS loop that never waits for
 * it.
 *
 * Compile and run it from the repository root. OUT is the folder of libsotto.so, here that of tests/check.py:
 *
 *     OUT=$PWD/build/check/release/out
 *     cc samples/c/portrait.c -I include -L "$OUT" -Wl,-rpath,"$OUT" -lsotto -o build/portrait
 *     build/portrait MODEL portrait.png "an innkeeper of fifty, grey braid, oil painting"
 *
 * MODEL is an image model; a fourth argument names the folder of its backend's module. A game would also
 * decode the PNG on a worker thread, and upload it as a texture.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#ifdef _WIN32
#  include <windows.h>
#else
#  include <time.h>
#endif

#include <sotto/sotto.h>

enum { FRAME_NS = 16666667, MAX_FRAMES = 60 * 60 * 10, MAX_PROMPT = 2048 };

typedef struct painter {
    const char* prompt;
    const char* file; /* where the image goes */
    int frame;        /* number of the frame */
    int state;        /* 0: under way, 1: the file is written, -1: failed */
} painter;

static sotto_str text(const char* literal) {
    const sotto_str made = {literal, SOTTO_NUL};
    return made;
}

static int fail(const char* doing) {
    const sotto_str why = sotto_last_error();
    fprintf(stderr, "%s: %.*s\n", doing, (int)why.size, why.data);
    return -1;
}

/* Submits the request. Returns -1 on failure. */
static int paint(sotto_engine* engine, const char* prompt) {
    char quoted[MAX_PROMPT];
    char body[MAX_PROMPT + 256];
    size_t size = 0;
    sotto_request_desc ask = SOTTO_INIT(sotto_request_desc);
    sotto_request request;
    if (sotto_json_quote(text(prompt), quoted, sizeof quoted, &size) < 0) {
        return fail("quote the prompt");
    }
    snprintf(
        body,
        sizeof body,
        "{\"model\": \"painter\", \"prompt\": %s, \"seed\": 7, \"response_format\": \"data\", "
        "\"partial_images\": 1}",
        quoted
    );
    ask.op = SOTTO_OP_IMAGE_GENERATE;
    ask.body = text(body);
    ask.priority = SOTTO_PRIORITY_BACKGROUND; /* characters that speak go first */
    return sotto_engine_submit(engine, &ask, &request) < 0 ? fail("submit") : 0;
}

/* Writes the image beside its final name first, so that a game that ends now leaves no half of a file. */
static int write_file(const char* path, sotto_str bytes) {
    char part[4096];
    FILE* file;
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part ||
        (file = fopen(part, "wb")) == NULL) {
        return -1;
    }
    const size_t written = fwrite(bytes.data, 1, bytes.size, file);
    const int closed = fclose(file);
#ifdef _WIN32
    remove(path); /* rename() does not replace a file there */
#endif
    return written == bytes.size && closed == 0 && rename(part, path) == 0 ? 1 : -1;
}

/* A preview's JSON has "partial": true. The writer of this JSON may leave out the space. */
static int is_preview(sotto_str json) {
    char info[1024] = "";
    memcpy(info, json.data, json.size < sizeof info ? json.size : sizeof info - 1);
    return strstr(info, "\"partial\":true") != NULL || strstr(info, "\"partial\": true") != NULL;
}

/* What one event means to this game. */
static void handle(sotto_engine* engine, const sotto_event* event, painter* self) {
    const int is_load = event->user == 1;
    if (event->kind == SOTTO_EVENT_PROGRESS && !is_load) {
        printf("[frame %d] %3.0f %%\n", self->frame, 100 * event->progress);
    } else if (event->kind == SOTTO_EVENT_DATA && is_preview(event->json)) {
        printf("[frame %d] a preview of %u bytes\n", self->frame, (unsigned)event->data.size);
    } else if (event->kind == SOTTO_EVENT_DATA) {
        self->state = write_file(self->file, event->data);
        printf("[frame %d] %.*s\n", self->frame, (int)event->json.size, event->json.data);
    } else if (event->kind == SOTTO_EVENT_REQUEST_DONE && event->status < 0) {
        fprintf(stderr, "failed: %.*s\n", (int)event->error.size, event->error.data);
        self->state = -1;
    } else if (event->kind == SOTTO_EVENT_REQUEST_DONE && is_load) {
        self->state = paint(engine, self->prompt);
    }
}

/* Stands in for present(), which waits for the screen. */
#ifdef _WIN32
static void wait_for_vsync(void) {
    Sleep(FRAME_NS / 1000000);
}
#else
static void wait_for_vsync(void) {
    const struct timespec frame = {0, FRAME_NS};
    nanosleep(&frame, NULL);
}
#endif

int main(int argc, char** argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: portrait MODEL FILE.png PROMPT [MODULES]\n");
        return 2;
    }
    sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
    sotto_engine* engine;
    desc.module_dir = text(argc > 4 ? argv[4] : "");
    if (sotto_engine_create(&desc, &engine) < 0) {
        return -fail("create");
    }
    sotto_model_desc model = SOTTO_INIT(sotto_model_desc);
    sotto_request loading;
    model.id = text("painter");
    model.path = text(argv[1]);
    model.user = 1;
    painter self = {argv[3], argv[2], 0, 0};
    if (sotto_engine_load_model(engine, &model, &loading) < 0) {
        self.state = fail("load");
    }
    sotto_frame_begin_desc begin = SOTTO_INIT(sotto_frame_begin_desc);
    begin.busy_cores = 1;
    begin.period_ns = FRAME_NS;
    for (; self.state == 0 && self.frame < MAX_FRAMES; ++self.frame) {
        sotto_engine_frame_begin(engine, &begin);
        sotto_event event = SOTTO_INIT(sotto_event);
        while (self.state == 0 && sotto_engine_next_event(engine, &event) == SOTTO_OK) {
            handle(engine, &event, &self);
        }
        /* update(); render(); present(); */
        sotto_engine_frame_end(engine, NULL);
        wait_for_vsync();
    }
    sotto_engine_destroy(engine);
    return self.state == 1 ? 0 : 1;
}
