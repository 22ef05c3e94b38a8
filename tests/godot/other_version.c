/* A double of libsotto of another version: it has every function that the addon links, and none does
 * anything. */
typedef struct text {
    const char* data;
    unsigned long size;
} text;

#define SHOW __attribute__((visibility("default")))

SHOW text sotto_version(void) {
    return (text){"9.9.0", 5};
}

SHOW text sotto_last_error(void) {
    return (text){"", 0};
}

#define UNSUPPORTED(name)                                                                                    \
    SHOW int name(void) {                                                                                    \
        return -2;                                                                                           \
    }
UNSUPPORTED(sotto_engine_attach_gpu)
UNSUPPORTED(sotto_engine_cancel)
UNSUPPORTED(sotto_engine_close_session)
UNSUPPORTED(sotto_engine_create)
UNSUPPORTED(sotto_engine_describe)
UNSUPPORTED(sotto_engine_destroy)
UNSUPPORTED(sotto_engine_frame_begin)
UNSUPPORTED(sotto_engine_frame_end)
UNSUPPORTED(sotto_engine_load_model)
UNSUPPORTED(sotto_engine_next_event)
UNSUPPORTED(sotto_engine_open_session)
UNSUPPORTED(sotto_engine_say)
UNSUPPORTED(sotto_engine_set_session_system)
UNSUPPORTED(sotto_engine_stats)
UNSUPPORTED(sotto_engine_restore_game)
UNSUPPORTED(sotto_engine_save_game)
UNSUPPORTED(sotto_engine_submit)
UNSUPPORTED(sotto_guard_check)
UNSUPPORTED(sotto_guard_create)
UNSUPPORTED(sotto_guard_destroy)
UNSUPPORTED(sotto_store_close)
UNSUPPORTED(sotto_store_insert)
UNSUPPORTED(sotto_store_open)
UNSUPPORTED(sotto_store_query)
UNSUPPORTED(sotto_store_remove)
