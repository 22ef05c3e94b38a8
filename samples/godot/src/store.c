/* The class `SottoStore`: memories on disk, and the jobs that read and write them. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "speech.h"

enum { PATH, EMBEDDING_MODEL, FIELDS };
typedef struct Store {
    Value fields[FIELDS];
    GDExtensionObjectPtr object;
    sotto_store* file; /* NULL: not open. Only the job at work may change it */
    bool has_model;    /* the embedding model is loaded */
} Store;

/* One job after the other waits for the disk, in the order in which they began. Embedding comes before that.
 */
typedef struct Job {
    struct Job* next;
    JobKind kind;
    Value owner; /* a reference to the store */
    Store* store;
    Value body;
    JobDone* done;
    Answer* answer;
    Value kept; /* a reference to the answer */
    enum { LOADING, EMBEDDING, READY, AT_WORK, FAILED } state;
    sotto_request request; /* of the embedding model, or of the embedding */
    int64_t task;
    char *path, *json; /* what the thread of the pool reads */
    int64_t dim;       /* of the embedding; 0: none */
    sotto_store* file; /* of CLOSE without a store: what it closes */
    sotto_status status;
    char* result; /* JSON, or the reason of a failure */
} Job;
static Job* jobs;

int64_t now_ms(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static char* copied(sotto_str text) {
    char* chars = calloc(text.size + 1, 1);
    if (chars != NULL && text.size > 0) {
        memcpy(chars, text.data, text.size);
    }
    return chars;
}

static void fail(Job* job, Outcome outcome) {
    job->state = FAILED;
    job->status = outcome.status;
    job->result = copied(outcome.reason);
}

/* Opens the file of a job's store. A new one is created for entries with the dimensions of their embedding.
 */
static sotto_status open_file(Job* job) {
    sotto_store_desc desc = SOTTO_INIT(sotto_store_desc);
    char* slash = strrchr(job->path, '/');
    desc.folder = slash == NULL ? STR("") : (sotto_str){job->path, (size_t)(slash - job->path)};
    desc.id = STR(slash == NULL ? job->path : slash + 1);
    desc.dim = (uint32_t)job->dim;
    desc.flags = job->kind == REMOVE ? 0 : SOTTO_STORE_CREATE;
    return sotto_store_open(&desc, &job->store->file);
}

/* Waits for the disk. */
static void run(Job* job) {
    char number[32];
    uint64_t count = 0;
    sotto_str json = {0};
    if (job->kind == CLOSE) {
        sotto_store_close(job->store != NULL ? job->store->file : job->file);
        if (job->store != NULL) {
            job->store->file = NULL;
        }
        return;
    }
    job->status = job->store->file != NULL ? SOTTO_OK : open_file(job);
    if (job->status >= 0 && job->kind == INSERT) {
        job->status = sotto_store_insert(job->store->file, STR(job->json), NULL, 0, &json);
    } else if (job->status >= 0 && job->kind == QUERY) {
        job->status = sotto_store_query(job->store->file, STR(job->json), NULL, 0, &json);
    } else if (job->status >= 0) {
        job->status = sotto_store_remove(job->store->file, STR(job->json), &count);
        snprintf(number, sizeof number, "[%llu]", (unsigned long long)count);
        json = (sotto_str){number, strlen(number)};
    }
    job->result = copied(job->status < 0 ? sotto_last_error() : json);
}

static void
run_task(void* job, const void* const* args, int64_t count, void* out, GDExtensionCallError* error) {
    run(job);
    error->error = GDEXTENSION_CALL_OK;
}

/* Lets a job wait for its turn, with all that its thread reads. */
static void make_ready(Job* job) {
    const Value given = GD_GET(job->store->fields[PATH], "simplify_path"); /* with slashes */
    const Value path = GD_CALL(gd_singleton("ProjectSettings"), "globalize_path", given);
    Value body = gd_copy(&job->body); /* another reference */
    job->path = gd_to_chars(path);
    if (job->kind == INSERT) { /* an entry takes the place of the one with its id */
        gd_replace(
            &body, GD_STATIC("JSON", "parse_string", gd_chars("{\"entries\": [], \"replace\": true}"))
        );
        const Value entries = GD_CALL(body, "get", gd_chars("entries"));
        gd_drop(GD_CALL(entries, "append", gd_copy(&job->body)));
        gd_drop(entries);
    }
    job->json = gd_to_chars(GD_STATIC("JSON", "stringify", body));
    job->state = READY;
    if (job->path == NULL || job->json == NULL) {
        fail(job, failure(SOTTO_ERROR_MEMORY, "out of memory"));
    }
}

/* Returns an item of a dictionary, which is dropped; nil without it. */
static Value take(Value dictionary, const char* key) {
    const Value item = GD_CALL(dictionary, "get", gd_chars(key));
    gd_drop(dictionary);
    return item;
}

/* Returns the text of a job that is embedded, to be freed; NULL: none. */
static char* embedded_text(const Job* job) {
    static const char* const names[] = {"value", "key"};
    Value text = {0};
    if (gd_to_int(GD_CALL(job->body, "has", gd_chars("embedding"))) != 0 || job->kind == REMOVE) {
        return NULL;
    }
    for (int i = 0; i < 2 && (Kind)gd.variant_get_type(&text) != TEXT; ++i) {
        gd_replace(&text, GD_CALL(job->body, "get", gd_chars(job->kind == QUERY ? "text" : names[i])));
    }
    if ((Kind)gd.variant_get_type(&text) == TEXT) {
        return gd_to_chars(text);
    }
    gd_drop(text);
    return NULL;
}

/* Submits what a job waits for: the load of the embedding model, then the embedding. */
static void submit(Job* job, char* model, const char* text) {
    Outcome outcome = engine_open();
    const Value request = GD_STATIC("JSON", "parse_string", gd_chars("{\"truncate\": true}"));
    gd_drop(GD_CALL(request, "set", gd_chars("model"), gd_chars(model)));
    gd_drop(GD_CALL(request, "set", gd_chars("input"), gd_chars(text)));
    char* body = gd_to_chars(GD_STATIC("JSON", "stringify", request));
    sotto_model_desc desc = SOTTO_INIT(sotto_model_desc);
    sotto_request_desc embed = SOTTO_INIT(sotto_request_desc);
    desc.id = STR(model);
    embed.op = SOTTO_OP_EMBED;
    embed.body = STR(body);
    sotto_status status = outcome.status;
    if (status >= 0 && job->store->has_model) {
        job->state = EMBEDDING;
        status = sotto_engine_submit(engine, &embed, &job->request);
    } else if (status >= 0) {
        job->state = LOADING;
        status = sotto_engine_load_model(engine, &desc, &job->request);
    }
    if (status < 0) {
        fail(job, outcome.status < 0 ? outcome : (Outcome){status, sotto_last_error()});
    }
    free(body);
}

static void prepare(Job* job) {
    char* model = gd_to_chars(gd_copy(&job->store->fields[EMBEDDING_MODEL]));
    char* text = model == NULL || model[0] == '\0' ? NULL : embedded_text(job);
    if (text == NULL || text[0] == '\0') {
        make_ready(job);
    } else {
        submit(job, model, text);
    }
    free(text);
    free(model);
}

/* Reads the response of an embedding. */
static void take_embedding(Job* job, sotto_str json) {
    const Value data = take(GD_STATIC("JSON", "parse_string", gd_text(json.data, json.size)), "data");
    const Value vector = take(GD_GET(data, "front"), "embedding");
    gd_drop(data);
    job->dim = gd_to_int(GD_GET(vector, "size"));
    gd_drop(GD_CALL(job->body, "set", gd_chars("embedding"), vector));
    make_ready(job);
}

bool jobs_take_event(const sotto_event* event) {
    Job* job = jobs;
    while (job != NULL && (job->request == 0 || job->request != event->request)) {
        job = job->next;
    }
    if (job == NULL || event->kind != SOTTO_EVENT_REQUEST_DONE) {
        return job != NULL;
    }
    const bool was_load = job->state == LOADING;
    job->request = 0;
    if (event->status < 0) {
        job->store->has_model = false; /* if it was unloaded, the next job loads it */
        fail(job, (Outcome){event->status, event->error});
    } else if (was_load) {
        job->store->has_model = true;
        prepare(job);
    } else {
        take_embedding(job, event->json);
    }
    return true;
}

static void end_job(Job* job) {
    const sotto_str text = {job->result, job->result == NULL ? 0 : strlen(job->result)};
    jobs = job->next;
    if (job->done != NULL) {
        const bool failed = job->status < 0;
        job->done(
            job->answer,
            (Outcome){job->status, failed ? text : (sotto_str){0}},
            failed ? (sotto_str){0} : text
        );
    }
    gd_drop(job->kept);
    gd_drop(job->body);
    gd_drop(job->owner); /* may end the store, which begins a job */
    free(job->path);
    free(job->json);
    free(job->result);
    free(job);
}

void report_job(Answer* answer, Outcome outcome, sotto_str json) {
    report(outcome);
}

void jobs_advance(void) {
    const Value pool = gd_singleton("WorkerThreadPool");
    while (jobs != NULL) {
        if (jobs->state == READY) {
            jobs->task = gd_to_int(GD_CALL(pool, "add_task", gd_callable(run_task, jobs)));
            jobs->state = AT_WORK;
            return;
        }
        const bool is_over =
            jobs->state == FAILED || (jobs->state == AT_WORK &&
                                      gd_to_int(GD_CALL(pool, "is_task_completed", gd_int(jobs->task))) != 0);
        if (!is_over) {
            return;
        }
        if (jobs->state == AT_WORK) {
            gd_drop(GD_CALL(pool, "wait_for_task_completion", gd_int(jobs->task)));
        }
        end_job(jobs);
    }
}

void jobs_end(void) {
    while (jobs != NULL) {
        if (jobs->state == AT_WORK) {
            gd_drop(
                GD_CALL(gd_singleton("WorkerThreadPool"), "wait_for_task_completion", gd_int(jobs->task))
            );
        } else if (jobs->state == READY) {
            run(jobs);
        }
        jobs->done = NULL;
        end_job(jobs);
    }
}

static Job* add_job(JobKind kind) {
    Job *job = calloc(1, sizeof *job), **last = &jobs;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = job;
    job->kind = kind;
    job->state = READY;
    return job;
}

void job_begin(const Value* store, JobKind kind, Value body, JobDone* done, Answer* answer) {
    Job* job = add_job(kind);
    job->owner = gd_copy(store);
    job->store = gd_instance(&store_class, store);
    job->body = body;
    job->done = done;
    job->answer = answer;
    job->kept = answer == NULL ? (Value){0} : gd_copy(&answer->self);
    if (kind != CLOSE) {
        prepare(job);
    }
}

/* The methods insert(), query() and remove(). */
static void work(void* self, int kind, const Value* argument, Value* result) {
    const Value store = gd_object(((Store*)self)->object);
    Answer* answer = answer_new(NULL, result);
    job_begin(&store, (JobKind)kind, GD_CALL(*argument, "duplicate", gd_bool(true)), answer_end, answer);
    gd_drop(store);
}

static void close_file(void* self, int index, const Value* argument, Value* result) {
    const Value store = gd_object(((Store*)self)->object);
    job_begin(&store, CLOSE, (Value){0}, NULL, NULL);
    gd_drop(store);
}

static void set(void* self, int index, const Value* argument, Value* result) {
    Store* store = self;
    if (store->file != NULL && !gd_in_main_thread("set")) {
        return;
    }
    gd_replace(&store->fields[index], gd_copy(argument));
    store->has_model = store->has_model && index != EMBEDDING_MODEL;
    if (index == PATH && store->file != NULL) {
        close_file(self, 0, NULL, NULL);
    }
}

static void init(void* self, GDExtensionObjectPtr object) {
    ((Store*)self)->object = object;
}

/* Closes the file, in its turn: a store of the same path that a game makes next waits for it. */
static void end(void* self) {
    Store* store = self;
    if (store->file == NULL) {
        return;
    }
    if (engine != NULL && gd_in_main_thread(NULL)) {
        add_job(CLOSE)->file = store->file;
    } else {
        sotto_store_close(store->file);
    }
}

Class store_class = {
    .name = "SottoStore",
    .parent = "Resource",
    .size = sizeof(Store),
    .init = init,
    .end = end,
    .set = set,
    .methods =
        {
            {"insert", work, {"", OBJECT, 0, "SottoAnswer"}, {{"entry", DICTIONARY}}, .index = INSERT},
            {"query", work, {"", OBJECT, 0, "SottoAnswer"}, {{"query", DICTIONARY}}, .index = QUERY},
            {"remove", work, {"", OBJECT, 0, "SottoAnswer"}, {{"which", DICTIONARY}}, .index = REMOVE},
            {"close", close_file},
        },
    .properties = {{"path", TEXT}, {"embedding_model", TEXT, FILE_NAME, "*.gguf"}},
};
