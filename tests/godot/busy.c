/* A double of libsotto that is busy: it refuses the first load, the first session and the first line. Logs
 * two lines that are too long for the addon. */
#include <sotto/sotto.h>

#include <string.h>

#define TEXT(chars) ((sotto_str){chars, sizeof(chars) - 1})

static sotto_event events[8];
static int written, taken;
static sotto_request requests;

static void send(sotto_event_kind kind, sotto_str text) {
    events[written] = (sotto_event){.kind = kind, .request = requests, .text = text};
    ++written;
}

/* Returns busy once, then gives `request` an id. */
static sotto_status answer(int* calls, sotto_request* request) {
    if ((*calls)++ == 0) {
        return SOTTO_ERROR_BUSY;
    }
    ++requests;
    if (request != NULL) {
        *request = requests;
    }
    return SOTTO_OK;
}

sotto_str sotto_version(void) {
    return TEXT(SOTTO_VERSION);
}

sotto_str sotto_last_error(void) {
    return TEXT("busy");
}

sotto_status sotto_engine_create(const sotto_engine_desc* desc, sotto_engine** engine) {
    for (int shift = 0; shift < 2; ++shift) { /* one of the two cuts is in the middle of a character */
        char line[8000] = "x";
        while (strlen(line) < sizeof line - 4) {
            strcat(line, "ä");
        }
        desc->log->write(desc->log->self, SOTTO_LOG_WARN, (sotto_str){line + shift, strlen(line + shift)});
    }
    *engine = (sotto_engine*)events;
    return SOTTO_OK;
}

sotto_status
sotto_engine_load_model(sotto_engine* engine, const sotto_model_desc* desc, sotto_request* request) {
    static int calls;
    const sotto_status status = answer(&calls, request);
    if (status == SOTTO_OK) {
        send(SOTTO_EVENT_REQUEST_DONE, TEXT(""));
    }
    return status;
}

sotto_status
sotto_engine_open_session(sotto_engine* engine, const sotto_session_desc* desc, sotto_request* request) {
    static int calls;
    return answer(&calls, request);
}

sotto_status sotto_engine_say(sotto_engine* engine, const sotto_say_desc* desc, sotto_request* request) {
    static int calls;
    const sotto_status status = answer(&calls, request);
    if (status == SOTTO_OK) {
        send(SOTTO_EVENT_TEXT, TEXT("I am Mara."));
        send(SOTTO_EVENT_REQUEST_DONE, TEXT(""));
    }
    return status;
}

sotto_status sotto_engine_next_event(sotto_engine* engine, sotto_event* event) {
    if (taken == written) {
        return SOTTO_EMPTY;
    }
    *event = events[taken++];
    return SOTTO_OK;
}

void sotto_engine_destroy(sotto_engine* engine) {}

#define NOTHING(name, ...)                                                                                   \
    sotto_status name(sotto_engine* engine, __VA_ARGS__) {                                                   \
        return SOTTO_OK;                                                                                     \
    }
NOTHING(sotto_engine_attach_gpu, const sotto_gpu_desc* gpu, sotto_gpu_sharing* rung)
NOTHING(sotto_engine_cancel, sotto_request request)
NOTHING(sotto_engine_close_session, sotto_str id, sotto_request_flags flags, sotto_request* request)
NOTHING(sotto_engine_describe, sotto_str* json)
NOTHING(sotto_engine_frame_begin, const sotto_frame_begin_desc* desc)
NOTHING(sotto_engine_frame_end, const sotto_frame_end_desc* desc)
NOTHING(
    sotto_engine_set_session_system,
    sotto_str id,
    sotto_str text,
    sotto_request_flags flags,
    sotto_request* out
)
NOTHING(sotto_engine_stats, sotto_stats* stats)
NOTHING(sotto_engine_restore_game, sotto_str path, sotto_request_flags flags, sotto_request* request)
NOTHING(sotto_engine_save_game, sotto_str path, sotto_request_flags flags, sotto_request* request)
NOTHING(sotto_engine_submit, const sotto_request_desc* desc, sotto_request* request)

/* The probe uses neither stores nor guards. */
sotto_status sotto_guard_create(sotto_str config, sotto_guard** guard) {
    return SOTTO_ERROR_STATE;
}

sotto_status
sotto_guard_check(sotto_guard* guard, sotto_guard_stage stage, sotto_str text, sotto_str* verdict) {
    return SOTTO_ERROR_STATE;
}

void sotto_guard_destroy(sotto_guard* guard) {}

sotto_status sotto_store_open(const sotto_store_desc* desc, sotto_store** store) {
    return SOTTO_ERROR_STATE;
}

sotto_status sotto_store_insert(
    sotto_store* store, sotto_str entries, const float* vectors, size_t count, sotto_str* ids
) {
    return SOTTO_ERROR_STATE;
}

sotto_status sotto_store_query(
    sotto_store* store, sotto_str query, const float* vector, size_t count, sotto_str* results
) {
    return SOTTO_ERROR_STATE;
}

sotto_status sotto_store_remove(sotto_store* store, sotto_str which, uint64_t* removed) {
    return SOTTO_ERROR_STATE;
}

void sotto_store_close(sotto_store* store) {}
