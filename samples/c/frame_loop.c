/* A game's side of Sotto, whole: one engine, two characters, a 60 FPS loop that never waits for a model.
 *
 * Compile and run it from the repository root. OUT is the folder of libsotto.so, here that of tests/check.py:
 *
 *     OUT=$PWD/build/check/release/out
 *     cc samples/c/frame_loop.c -I include -L "$OUT" -Wl,-rpath,"$OUT" -lsotto -o build/frame_loop
 *     build/frame_loop
 *
 * The house model speaks; another one does if its GGUF file is the argument.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#ifdef _WIN32
#  include <windows.h>
#else
#  include <time.h>
#endif

#include <sotto/sotto.h>

enum { CHARACTERS = 2, FRAME_NS = 16666667, MOST_FRAMES = 60 * 60 };

typedef struct character {
    const char* name;
    const char* body; /* the request, in the OpenAI schema */
    int done;
} character;

static character cast[CHARACTERS] = {
    {"Mara",
     "{\"model\": \"sotto/house\", \"max_tokens\": 48, \"temperature\": 0, \"messages\": ["
     "{\"role\": \"system\", \"content\": \"Name: Mara\\nRole: ferrywoman\\nManner: gruff\\n"
     "Place: the landing, Millbrook\\nPrices:\\n- a ferry ride: 3 copper\"},"
     "{\"role\": \"user\", \"content\": \"How much is a ferry ride?\"}]}",
     0},
    {"Tobin",
     "{\"model\": \"sotto/house\", \"max_tokens\": 48, \"temperature\": 0, \"messages\": ["
     "{\"role\": \"system\", \"content\": \"Name: Tobin Ashdown\\nRole: miller\\nManner: courtly\\n"
     "Place: the old mill, Millbrook\"},"
     "{\"role\": \"user\", \"content\": \"Who are you?\"}]}",
     0},
};

static sotto_str text(const char* literal) {
    const sotto_str made = {literal, SOTTO_NUL};
    return made;
}

static int fail(const char* doing) {
    const sotto_str why = sotto_last_error();
    fprintf(stderr, "%s: %.*s\n", doing, (int)why.size, why.data);
    return 1;
}

/* What one event means to this game. Returns how many things are left to wait for. */
static int handle(sotto_engine* engine, const sotto_event* event, int frame, int waiting) {
    if (event->kind == SOTTO_EVENT_TEXT) {
        printf(
            "[frame %d] %s: %.*s\n", frame, cast[event->user].name, (int)event->text.size, event->text.data
        );
    }
    if (event->kind != SOTTO_EVENT_REQUEST_DONE) {
        return waiting;
    }
    if (event->status < 0) {
        fprintf(stderr, "the request failed: %.*s\n", (int)event->text.size, event->text.data);
        return -1;
    }
    if (event->user < CHARACTERS) {
        cast[event->user].done = 1;
        return waiting - 1;
    }
    for (int i = 0; i < CHARACTERS; ++i) { /* the model is there: everybody speaks */
        sotto_request_desc ask = SOTTO_INIT(sotto_request_desc);
        sotto_request request;
        ask.op = SOTTO_OP_CHAT;
        ask.body = text(cast[i].body);
        ask.user = (uint64_t)i;
        if (sotto_engine_submit(engine, &ask, &request) < 0) {
            return -1;
        }
    }
    return CHARACTERS;
}

/* Stands in for present(), which waits for the screen. */
#ifdef _WIN32
static void wait_for_vsync(void) {
    Sleep(FRAME_NS / 1000000);
}
#else
static void wait_for_vsync(void) {
    static struct timespec next;
    if (next.tv_sec == 0) {
        clock_gettime(CLOCK_MONOTONIC, &next);
    }
    next.tv_nsec += FRAME_NS;
    if (next.tv_nsec >= 1000000000) {
        next.tv_nsec -= 1000000000;
        ++next.tv_sec;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
}
#endif

int main(int argc, char** argv) {
    sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
    sotto_engine* engine;
    desc.target_tps = 24;
    if (sotto_engine_create(&desc, &engine) < 0) {
        return fail("create");
    }

    sotto_model_desc model = SOTTO_INIT(sotto_model_desc);
    sotto_request loading;
    model.id = text("sotto/house"); /* the house model; a path replaces its file, and keeps the id */
    model.path = text(argc > 1 ? argv[1] : "");
    model.user = CHARACTERS; /* no character's number */
    if (sotto_engine_load_model(engine, &model, &loading) < 0) {
        return fail("load");
    }

    sotto_frame_begin_desc begin = SOTTO_INIT(sotto_frame_begin_desc);
    begin.busy_cores = 1;
    begin.period_ns = FRAME_NS;
    int waiting = 1;
    for (int frame = 0; waiting > 0 && frame < MOST_FRAMES; ++frame) {
        sotto_engine_frame_begin(engine, &begin);
        sotto_event event = SOTTO_INIT(sotto_event);
        while (waiting > 0 && sotto_engine_next_event(engine, &event) == SOTTO_OK) {
            waiting = handle(engine, &event, frame, waiting);
        }
        /* update(); render(); present(); */
        sotto_engine_frame_end(engine, NULL);
        wait_for_vsync();
    }

    sotto_engine_destroy(engine);
    for (int i = 0; i < CHARACTERS; ++i) {
        if (!cast[i].done) {
            return 1;
        }
    }
    return 0;
}
