/* The engine, its frames, monitors, files, settings and graphics device, the class `Sotto`, and the entry. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "speech.h"

enum { MONITORS = 3 };
enum { DEVICE, BUDGET, MODE, GUARDRAILS, SETTINGS };
static const Property settings[SETTINGS] = {
    {"sotto/device", TEXT, SUGGESTIONS, "cpu,auto,vulkan,cuda"},
    {"sotto/memory_budget_mib", INT, RANGE, "0,65536,1,or_greater,suffix:MiB"},
    {"sotto/mode", INT, ENUM, "Balance,Models first,Frames first"},
    {"sotto/guardrails", TEXT, FILE_NAME, "*.json"},
};
static const char* const monitors[MONITORS] = {"sotto/tokens_per_s", "sotto/memory_mib", "sotto/slack_ms"};
sotto_engine* engine;
static bool in_frame;
static double worked_ms; /* CPU time of the main thread at the end of the last frame */

Outcome outcome(sotto_status status) {
    return (Outcome){status, status < 0 ? sotto_last_error() : (sotto_str){0}};
}

Outcome failure(sotto_status status, const char* format, ...) {
    static _Thread_local char reason[256];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return (Outcome){status, {reason, strlen(reason)}};
}

static void SOTTO_CALL write_log(void* self, sotto_log_level level, sotto_str line) {
    char message[4096];
    size_t size = line.size < sizeof message ? line.size : sizeof message - 1;
    while (size > 0 && size < line.size && (line.data[size] & 0xC0) == 0x80) {
        --size; /* to the start of a character */
    }
    snprintf(message, sizeof message, "%.*s", (int)size, line.data);
    (level <= SOTTO_LOG_ERROR ? gd.print_error : gd.print_warning)(message, "sotto", "addons/sotto", 0, true);
}

bool report(Outcome outcome) {
    if (outcome.status < 0) {
        write_log(NULL, SOTTO_LOG_ERROR, outcome.reason);
    }
    return outcome.status >= 0;
}

/* CPU time of the calling thread. 0 on Windows, which counts it too coarsely for a frame. */
static double thread_ms(void) {
#ifdef _WIN32
    return 0;
#else
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
#endif
}

/* The target time of a frame in ns. 0: neither a limit of the frame rate nor a screen sets it. */
static uint64_t period_ns(void) {
    const Value display = gd_singleton("DisplayServer");
    int64_t rate = gd_to_int(GD_GET(gd_singleton("Engine"), "get_max_fps"));
    if (rate <= 0 && gd_to_int(GD_CALL(display, "window_get_vsync_mode", gd_int(0))) != 0) {
        rate = gd_to_int(GD_CALL(display, "screen_get_refresh_rate", gd_int(-1)));
    }
    return rate > 0 ? 1000000000 / (uint64_t)rate : 0;
}

void engine_begin_frame(void) {
    static sotto_frame_begin_desc frame = SOTTO_INIT(sotto_frame_begin_desc);
    static uint32_t count;
    if (engine != NULL && !in_frame && gd_in_main_thread(NULL)) {
        in_frame = true;
        frame.period_ns = count++ % 64 == 0 ? period_ns() : frame.period_ns;
        sotto_engine_frame_begin(engine, &frame);
    }
}

/* Runs after every _process(). */
static void end_frame(void) {
    sotto_frame_end_desc end = SOTTO_INIT(sotto_frame_end_desc);
    answers_deliver();
    if (engine != NULL) {
        const double now = thread_ms();
        end.busy_ms = (float)(now - worked_ms);
        worked_ms = now;
        in_frame = false;
        sotto_engine_frame_end(engine, &end);
    }
}

static void
read_monitor(void* which, const void* const* args, int64_t count, void* out, GDExtensionCallError* error) {
    sotto_stats stats = SOTTO_INIT(sotto_stats);
    sotto_engine_stats(engine, &stats);
    const double mib = (double)stats.bytes_in_use / 1048576;
    const double slack = (double)period_ns() / 1e6 - stats.frame_p50_ms;
    const double figures[MONITORS] = {stats.tokens_per_s, mib, slack > 0 ? slack : 0};
    *(Value*)out = gd_real(figures[(const char* const*)which - monitors]);
    error->error = GDEXTENSION_CALL_OK;
}

/* Models are read through FileAccess, so that they may be in the .pck, from threads of the engine. */
static sotto_status SOTTO_CALL open_file(void* self, sotto_str path, void** file, uint64_t* size) {
    const Value mode = gd_int(1); /* READ */
    const Value access = GD_STATIC("FileAccess", "open", gd_text(path.data, path.size), mode);
    const bool found = gd_to_object(&access) != NULL;
    Value* opened = found ? malloc(sizeof *opened) : NULL;
    if (opened == NULL) {
        gd_drop(access);
        return found ? SOTTO_ERROR_MEMORY : SOTTO_ERROR_NOT_FOUND;
    }
    *opened = access;
    *size = (uint64_t)gd_to_int(GD_GET(access, "get_length"));
    *file = opened;
    return SOTTO_OK;
}

static sotto_status SOTTO_CALL
read_file(void* self, void* file, uint64_t offset, void* buffer, uint64_t bytes) {
    gd_drop(GD_CALL(*(Value*)file, "seek", gd_int((int64_t)offset)));
    const uint64_t read = gd.file_access_get_buffer(gd_to_object(file), buffer, bytes);
    return read == bytes ? SOTTO_OK : SOTTO_ERROR_MODEL;
}

static void SOTTO_CALL close_file(void* self, void* file) {
    gd_drop(*(Value*)file);
    free(file);
}

/* Registers the project settings, for Godot's dialog. */
static void add_settings(void) {
    const Value project = gd_singleton("ProjectSettings");
    for (int i = 0; i < SETTINGS; ++i) {
        const Property* it = &settings[i];
        const char* format = "{\"name\": \"%s\", \"type\": %d, \"hint\": %u, \"hint_string\": \"%s\"}";
        char info[256];
        snprintf(info, sizeof info, format, it->name, it->kind, it->hint, it->hint_text);
        const Value initial = it->kind == TEXT ? gd_chars(i == DEVICE ? "cpu" : "") : gd_int(0);
        const Value value = GD_CALL(project, "get_setting", gd_chars(it->name), gd_copy(&initial));
        gd_drop(GD_CALL(project, "set_setting", gd_chars(it->name), value));
        gd_drop(GD_CALL(project, "set_initial_value", gd_chars(it->name), initial));
        gd_drop(GD_CALL(project, "set_as_basic", gd_chars(it->name), gd_bool(true)));
        gd_drop(GD_CALL(project, "add_property_info", GD_STATIC("JSON", "parse_string", gd_chars(info))));
    }
}

static Value setting(int index) {
    return GD_CALL(gd_singleton("ProjectSettings"), "get_setting", gd_chars(settings[index].name));
}

Outcome engine_open(void) {
    const sotto_str version = sotto_version();
    const size_t minor = (size_t)(strrchr(SOTTO_VERSION, '.') + 1 - SOTTO_VERSION); /* the length of "0.1." */
    if (engine != NULL) {
        return outcome(SOTTO_OK);
    }
    if (version.size < minor || strncmp(version.data, SOTTO_VERSION, minor) != 0) {
        const char* format = "invalid version '%.*s' of the library libsotto: expected " SOTTO_VERSION
                             "; copy the libraries of one release into the addon";
        return failure(SOTTO_ERROR_UNSUPPORTED, format, (int)version.size, version.data);
    }
    const int64_t budget = gd_to_int(setting(BUDGET));
    if (budget < 0 || budget > 1 << 24) {
        const char* format =
            "invalid sotto/memory_budget_mib '%lld': expected 0 to 16777216; 0 sets no limit";
        return failure(SOTTO_ERROR_ARGUMENT, format, (long long)budget);
    }
    char* guardrails = gd_to_chars(setting(GUARDRAILS));
    const Outcome guarded = guard_open(guardrails);
    free(guardrails);
    if (guarded.status < 0) {
        return guarded;
    }
    const sotto_log_sink log = {sizeof log, 0, write_log, NULL};
    const sotto_file_access files = {sizeof files, 0, open_file, read_file, close_file, NULL};
    char* device = gd_to_chars(setting(DEVICE));
    sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
    desc.device = STR(device);
    desc.vram_budget = (uint64_t)budget << 20;
    desc.mode = (sotto_mode)gd_to_int32(setting(MODE));
    desc.log = &log;
    desc.files = &files;
    desc.guard = guard;
    const Outcome created = outcome(sotto_engine_create(&desc, &engine));
    free(device);
    for (int i = 0; i < MONITORS && engine != NULL; ++i) {
        const Value callable = gd_callable(read_monitor, (void*)&monitors[i]);
        gd_drop(GD_CALL(gd_singleton("Performance"), "add_custom_monitor", gd_chars(monitors[i]), callable));
    }
    return created;
}

static void close_all(void) {
    answers_drop(true);
    jobs_end();
    guard_close();
    for (int i = 0; i < MONITORS && engine != NULL; ++i) {
        gd_drop(GD_CALL(gd_singleton("Performance"), "remove_custom_monitor", gd_chars(monitors[i])));
    }
    sotto_engine_destroy(engine);
    engine = NULL;
}

static void describe(void* self, int index, const Value* argument, Value* result) {
    sotto_str json = {"{}", 2};
    if (report(engine_open())) {
        report(outcome(sotto_engine_describe(engine, &json)));
    }
    *result = GD_STATIC("JSON", "parse_string", gd_text(json.data, json.size));
}

static sotto_status attach(Value device, bool is_d3d12) {
    enum { LOGICAL, PHYSICAL, INSTANCE, QUEUE, FAMILY, RESOURCES }; /* RenderingDevice.DriverResources */
    uint64_t of[RESOURCES];
    for (int i = 0; i < RESOURCES; ++i) {
        const Value none = gd_make(RID, &(uint64_t){0});
        of[i] = (uint64_t)gd_to_int(GD_CALL(device, "get_driver_resource", gd_int(i), none, gd_int(0)));
    }
    sotto_gpu_vulkan vulkan = SOTTO_INIT(sotto_gpu_vulkan);
    sotto_gpu_d3d12 d3d12 = SOTTO_INIT(sotto_gpu_d3d12);
    sotto_gpu_desc gpu = SOTTO_INIT(sotto_gpu_desc);
    vulkan.device = d3d12.device = (void*)of[LOGICAL];
    vulkan.physical_device = (void*)of[PHYSICAL];
    vulkan.instance = (void*)of[INSTANCE];
    vulkan.queue = d3d12.queue = (void*)of[QUEUE];
    vulkan.queue_family = (uint32_t)of[FAMILY];
    gpu.vulkan = is_d3d12 ? NULL : &vulkan;
    gpu.d3d12 = is_d3d12 ? &d3d12 : NULL;
    return sotto_engine_attach_gpu(engine, &gpu, NULL);
}

static void attach_gpu(void* self, int index, const Value* argument, Value* result) {
    const Value server = gd_singleton("RenderingServer");
    const Value device = GD_GET(server, "get_rendering_device");
    const Value driver = GD_GET(server, "get_current_rendering_driver_name");
    const bool is_d3d12 = gd_to_int(GD_CALL(driver, "contains", gd_chars("d3d12"))) != 0;
    const char* reason = "Godot has no RenderingDevice: expected the renderer Forward+ or Mobile";
    Outcome attached = failure(SOTTO_ERROR_UNSUPPORTED, "%s", reason);
    if (gd_to_object(&device) != NULL) {
        attached = engine_open();
        attached = attached.status < 0 ? attached : outcome(attach(device, is_d3d12));
    }
    *result = gd_bool(report(attached));
    gd_drop(driver);
}

static Class sotto_class = {
    .name = "Sotto",
    .parent = "Object",
    .methods = {
        {"describe", describe, .result = {"", DICTIONARY}, .is_static = true},
        {"attach_gpu", attach_gpu, .result = {"", BOOL}, .is_static = true},
        {"save_game", game_file, {"", OBJECT, 0, "SottoAnswer"}, {{"path", TEXT}}, .is_static = true},
        {"restore_game", game_file, {"", OBJECT, 0, "SottoAnswer"}, {{"path", TEXT}}, true, .index = 1},
        {"check_input", guard_check, {"", DICTIONARY}, {{"text", TEXT}}, true, SOTTO_GUARD_INPUT},
        {"check_output", guard_check, {"", DICTIONARY}, {{"text", TEXT}}, true, SOTTO_GUARD_OUTPUT},
    },
};

static void initialize(void* userdata, GDExtensionInitializationLevel level) {
    static const GDExtensionMainLoopCallbacks callbacks = {NULL, close_all, end_frame};
    if (level == GDEXTENSION_INITIALIZATION_SCENE) {
        gd_add_class(&answer_class);
        gd_add_class(&store_class);
        gd_add_class(&character_class);
        gd_add_class(&sotto_class);
        add_settings();
        gd.register_main_loop_callbacks(gd.library, &callbacks);
    }
}

static void deinitialize(void* userdata, GDExtensionInitializationLevel level) {
    if (level == GDEXTENSION_INITIALIZATION_SCENE) {
        close_all(); /* a reload calls no callback */
        gd_remove_class(&sotto_class);
        gd_remove_class(&character_class);
        gd_remove_class(&store_class);
        gd_remove_class(&answer_class);
    }
}

SOTTO_EXPORT GDExtensionBool
sotto_godot_init(GDExtensionInterfaceGetProcAddress find, void* library, GDExtensionInitialization* entry) {
    *entry = (GDExtensionInitialization){GDEXTENSION_INITIALIZATION_SCENE, NULL, initialize, deinitialize};
    return gd_open(find, library);
}
