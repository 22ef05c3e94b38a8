/* A portrait of each character of a tavern, painted while the game runs, and kept in the save game: one
 * request after the other, and a 60 FPS loop that never waits for them.
 *
 * Compile and run it from the repository root. OUT is the folder of libsotto.so, here that of tests/check.py:
 *
 *     OUT=$PWD/build/check/release/out
 *     cc samples/c/portraits.c -I include -L "$OUT" -Wl,-rpath,"$OUT" -lsotto -o build/portraits
 *     build/portraits MODEL saves
 *
 * MODEL is an image model; a third argument names the folder of its backend's module. A portrait is painted
 * once: its file's name has a hash of the request. The save game saves/slot1.sotto holds the files too, so
 * that they come back on another machine. A game would also decode the PNG on a worker thread, and upload it
 * as a texture.
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

enum { FRAME_NS = 16666667, MAX_FRAMES = 60 * 60 * 10, MAX_PATH_SIZE = 1024, MAX_BODY = 16384 };
enum { LOAD = 1, RESTORE, PAINT, SAVE }; /* what a request is for: sotto_event.user */
enum { CAST = 4 };

static const char* const kNames[CAST] = {"brenna", "garrick", "silvane", "pip"};
static const char* const kLooks[CAST] = {
    "a cheerful innkeeper of fifty, red cheeks, grey braid, flour on her apron",
    "a gruff blacksmith, burnt forearms, black beard, leather cap",
    "a quiet herbalist, green hood, freckles, a sprig of thyme behind the ear",
    "a boy of ten, gap in his teeth, tousled straw hair, a borrowed coat",
};

typedef struct game {
    sotto_engine* engine;
    const char* folder; /* of save games */
    int next;           /* the character whose portrait is painted */
    int frame;          /* number of the frame */
    int state;          /* 0: under way, 1: saved, -1: failed */
} game;

static sotto_str text(const char* literal) {
    const sotto_str made = {literal, SOTTO_NUL};
    return made;
}

static int fail(const char* doing) {
    const sotto_str why = sotto_last_error();
    fprintf(stderr, "%s: %.*s\n", doing, (int)why.size, why.data);
    return -1;
}

/* Appends to a body. Returns -1 if it does not fit. */
static int append(char* body, const char* more) {
    const size_t used = strlen(body);
    return snprintf(body + used, MAX_BODY - used, "%s", more) >= (int)(MAX_BODY - used) ? -1 : 0;
}

/* Appends a JSON string. */
static int quote(char* body, const char* value) {
    const size_t used = strlen(body);
    size_t size = 0;
    if (sotto_json_quote(text(value), body + used, MAX_BODY - used - 1, &size) < 0) {
        return fail("quote");
    }
    body[used + size] = '\0';
    return 0;
}

/* Writes the request for a portrait: the same one each time. */
static int portrait_body(int who, char* body) {
    char prompt[512];
    char rest[128];
    snprintf(
        prompt,
        sizeof prompt,
        "portrait of %s, oil painting, head and shoulders, plain dark background",
        kLooks[who]
    );
    snprintf(
        rest,
        sizeof rest,
        ", \"seed\": %d, \"response_format\": \"data\", \"partial_images\": 1}",
        100 + who /* a character keeps their face when the game is installed again */
    );
    body[0] = '\0';
    return append(body, "{\"model\": \"painter\", \"prompt\": ") < 0 || quote(body, prompt) < 0
               ? -1
               : append(body, rest);
}

/* Writes the path of a portrait's file, and returns its name: it has a hash (FNV-1a) of the request. */
static const char* portrait_file(const game* self, int who, char* path) {
    char body[MAX_BODY];
    unsigned long long hash = 14695981039346656037ULL;
    portrait_body(who, body);
    for (const char* at = body; *at != '\0'; ++at) {
        hash = (hash ^ (unsigned char)*at) * 1099511628211ULL;
    }
    snprintf(path, MAX_PATH_SIZE, "%s/%s-%016llx.png", self->folder, kNames[who], hash);
    return path + strlen(self->folder) + 1;
}

/* Submits a request in the background: characters that speak go first. */
static int submit(game* self, sotto_op op, int user, const char* body) {
    sotto_request_desc ask = SOTTO_INIT(sotto_request_desc);
    sotto_request request;
    ask.op = op;
    ask.user = (uint64_t)user;
    ask.body = text(body);
    ask.priority = SOTTO_PRIORITY_BACKGROUND;
    return sotto_engine_submit(self->engine, &ask, &request) < 0 ? fail("submit") : 0;
}

/* Submits the request that writes the portraits into the save game, or restores them from it. */
static int exchange(game* self, sotto_op op, int user) {
    char body[MAX_BODY] = "{\"path\": ";
    char path[MAX_PATH_SIZE];
    snprintf(path, sizeof path, "%s/slot1.sotto", self->folder);
    int made = quote(body, path) < 0 || append(body, ", \"files\": {") < 0 ? -1 : 0;
    for (int who = 0; who < CAST && made == 0; ++who) {
        const char* name = portrait_file(self, who, path);
        made = append(body, who > 0 ? ", " : "") < 0 || quote(body, name) < 0 || append(body, ": ") < 0 ||
                       quote(body, path) < 0
                   ? -1
                   : 0;
    }
    return made < 0 || append(body, "}}") < 0 ? -1 : submit(self, op, user, body);
}

static int exists(const char* path) {
    FILE* file = fopen(path, "rb");
    return file != NULL && fclose(file) == 0;
}

/* Paints the next portrait that has no file, or saves the game. */
static int go_on(game* self) {
    char path[MAX_PATH_SIZE];
    char body[MAX_BODY];
    for (; self->next < CAST; ++self->next) {
        portrait_file(self, self->next, path);
        if (!exists(path)) {
            return portrait_body(self->next, body) < 0 ? -1
                                                       : submit(self, SOTTO_OP_IMAGE_GENERATE, PAINT, body);
        }
        printf("%s: %s, from an earlier evening\n", kNames[self->next], path);
    }
    return exchange(self, SOTTO_OP_SAVE_GAME, SAVE);
}

/* Writes the image beside its final name first, so that a game that ends now leaves no half of a file. */
static int write_file(const char* path, sotto_str bytes) {
    char part[MAX_PATH_SIZE + 8];
    snprintf(part, sizeof part, "%s.part", path);
    FILE* file = fopen(part, "wb");
    if (file == NULL) {
        return -1;
    }
    const size_t written = fwrite(bytes.data, 1, bytes.size, file);
    const int closed = fclose(file);
    return written == bytes.size && closed == 0 && rename(part, path) == 0 ? 0 : -1;
}

/* A preview's JSON has "partial": true. The writer of this JSON may leave out the space. */
static int is_preview(sotto_str json) {
    char info[1024] = "";
    memcpy(info, json.data, json.size < sizeof info ? json.size : sizeof info - 1);
    return strstr(info, "\"partial\":true") != NULL || strstr(info, "\"partial\": true") != NULL;
}

/* Keeps an image, and does not count a preview. */
static int keep(game* self, const sotto_event* event) {
    char path[MAX_PATH_SIZE];
    if (is_preview(event->json)) {
        printf("[frame %d] a preview of %u bytes\n", self->frame, (unsigned)event->data.size);
        return 0;
    }
    portrait_file(self, self->next, path);
    printf("%s: %s\n", kNames[self->next], path);
    if (write_file(path, event->data) < 0) {
        fprintf(stderr, "cannot write '%s': make the folder, or free space\n", path);
        return -1;
    }
    return 0;
}

/* Begins what follows a request that has ended. Returns -1 on failure. */
static int follow(game* self, const sotto_event* event) {
    char slot[MAX_PATH_SIZE];
    if (event->status < 0 && event->user != RESTORE) { /* a save game of other portraits: they are painted */
        fprintf(stderr, "failed: %.*s\n", (int)event->error.size, event->error.data);
        return -1;
    }
    if (event->user == SAVE) {
        self->state = 1;
        return 0;
    }
    self->next += event->user == PAINT;
    snprintf(slot, sizeof slot, "%s/slot1.sotto", self->folder);
    if (event->user == LOAD && exists(slot)) {
        return exchange(self, SOTTO_OP_RESTORE_GAME, RESTORE);
    }
    return go_on(self);
}

/* What one event means to this game. */
static void handle(game* self, const sotto_event* event) {
    int outcome = 0;
    if (event->kind == SOTTO_EVENT_PROGRESS && event->user == PAINT) {
        printf("[frame %d] %3.0f %%\n", self->frame, 100 * event->progress);
    } else if (event->kind == SOTTO_EVENT_DATA) {
        outcome = keep(self, event);
    } else if (event->kind == SOTTO_EVENT_REQUEST_DONE) {
        outcome = follow(self, event);
    }
    if (outcome < 0) {
        self->state = -1;
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
    if (argc < 3 || strlen(argv[2]) > MAX_PATH_SIZE - 64) {
        fprintf(stderr, "usage: portraits MODEL FOLDER [MODULES]\n");
        return 2;
    }
    sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
    game self = {NULL, argv[2], 0, 0, 0};
    desc.module_dir = text(argc > 3 ? argv[3] : "");
    if (sotto_engine_create(&desc, &self.engine) < 0) {
        return -fail("create");
    }
    sotto_model_desc model = SOTTO_INIT(sotto_model_desc);
    sotto_request loading;
    model.id = text("painter");
    model.path = text(argv[1]);
    model.user = LOAD;
    if (sotto_engine_load_model(self.engine, &model, &loading) < 0) {
        self.state = fail("load");
    }
    sotto_frame_begin_desc begin = SOTTO_INIT(sotto_frame_begin_desc);
    begin.busy_cores = 1;
    begin.period_ns = FRAME_NS;
    for (; self.state == 0 && self.frame < MAX_FRAMES; ++self.frame) {
        sotto_engine_frame_begin(self.engine, &begin);
        sotto_event event = SOTTO_INIT(sotto_event);
        while (self.state == 0 && sotto_engine_next_event(self.engine, &event) == SOTTO_OK) {
            handle(&self, &event);
        }
        /* update(); render(); present(); */
        sotto_engine_frame_end(self.engine, NULL);
        wait_for_vsync();
    }
    sotto_engine_destroy(self.engine);
    return self.state == 1 ? 0 : 1;
}
