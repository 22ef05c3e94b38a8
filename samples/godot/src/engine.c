/* The engine, its frames, monitors, files and graphics device, the class `Sotto`, and the extension's entry.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "speech.h"

enum { MONITORS = 3, CLASSES = 3 };
sotto_engine* engine;
static bool in_frame;
static double worked_ms; /* CPU time of the main thread at the end of the last frame */
static const char* const monitors[MONITORS] = {"sotto/tokens_per_s", "sotto/memory_mib", "sotto/slack_ms"};

sotto_str str(const char* text) {
    return (sotto_str){text, text == NULL ? 0 : strlen(text)};
}

static void SOTTO_CALL write_log(void* self, sotto_log_level level, sotto_str line) {
    char message[4096];
    snprintf(message, sizeof message, "%.*s", (int)line.size, line.data);
    (level <= SOTTO_LOG_ERROR ? gd.print_error : gd.print_warning)(message, "sotto", "addons/sotto", 0, true);
}

bool report(sotto_str reason) {
    if (reason.size != 0) {
        write_log(NULL, SOTTO_LOG_ERROR, reason);
    }
    return reason.size == 0;
}

sotto_str reason_of(sotto_status status) {
    return status < 0 ? sotto_last_error() : str(NULL);
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
    if (engine != NULL && !in_frame) {
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

static Value setting(const char* name, Value fallback) {
    return GD_CALL(gd_singleton("ProjectSettings"), "get_setting", gd_chars(name), fallback);
}

sotto_str engine_open(void) {
    static char reason[256];
    const sotto_str version = sotto_version();
    const size_t minor = (size_t)(strrchr(SOTTO_VERSION, '.') + 1 - SOTTO_VERSION); /* the length of "0.1." */
    if (engine != NULL) {
        return str(NULL);
    }
    if (version.size < minor || strncmp(version.data, SOTTO_VERSION, minor) != 0) {
        const char* form = "invalid version '%.*s' of the library libsotto: expected " SOTTO_VERSION
                           "; copy the libraries of one release into the addon";
        snprintf(reason, sizeof reason, form, (int)version.size, version.data);
        return str(reason);
    }
    const sotto_log_sink log = {sizeof log, 0, write_log, NULL};
    const sotto_file_access files = {sizeof files, 0, open_file, read_file, close_file, NULL};
    char* device = gd_to_chars(setting("sotto/device", gd_chars("")));
    sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
    desc.device = str(device);
    desc.vram_budget = (uint64_t)gd_to_int(setting("sotto/memory_budget_mib", gd_int(0))) << 20;
    desc.mode = (sotto_mode)gd_to_int(setting("sotto/mode", gd_int(0)));
    desc.log = &log;
    desc.files = &files;
    const sotto_status status = sotto_engine_create(&desc, &engine);
    free(device);
    for (int i = 0; i < MONITORS && status >= 0; ++i) {
        const Value callable = gd_callable(read_monitor, (void*)&monitors[i]);
        gd_drop(GD_CALL(gd_singleton("Performance"), "add_custom_monitor", gd_chars(monitors[i]), callable));
    }
    return reason_of(status);
}

static void close_all(void) {
    answers_drop(true);
    for (int i = 0; i < MONITORS && engine != NULL; ++i) {
        gd_drop(GD_CALL(gd_singleton("Performance"), "remove_custom_monitor", gd_chars(monitors[i])));
    }
    sotto_engine_destroy(engine);
    engine = NULL;
}

static void describe(void* self, int index, const Value* argument, Value* result) {
    sotto_str json = {"{}", 2};
    if (report(engine_open())) {
        report(reason_of(sotto_engine_describe(engine, &json)));
    }
    *result = GD_STATIC("JSON", "parse_string", gd_text(json.data, json.size));
}

/* Returns a handle or a number of Godot's RenderingDevice; `which` is a RenderingDevice.DriverResource. */
static uint64_t resource(Value device, int which) {
    const Value none = gd_make(RID, &(uint64_t){0});
    return (uint64_t)gd_to_int(GD_CALL(device, "get_driver_resource", gd_int(which), none, gd_int(0)));
}

static sotto_status attach(Value device, bool is_d3d12) {
    sotto_gpu_vulkan vulkan = SOTTO_INIT(sotto_gpu_vulkan);
    sotto_gpu_d3d12 d3d12 = SOTTO_INIT(sotto_gpu_d3d12);
    sotto_gpu_desc gpu = SOTTO_INIT(sotto_gpu_desc);
    vulkan.device = d3d12.device = (void*)resource(device, 0);
    vulkan.physical_device = (void*)resource(device, 1);
    vulkan.instance = (void*)resource(device, 2);
    vulkan.queue = d3d12.queue = (void*)resource(device, 3);
    vulkan.queue_family = (uint32_t)resource(device, 4);
    gpu.vulkan = is_d3d12 ? NULL : &vulkan;
    gpu.d3d12 = is_d3d12 ? &d3d12 : NULL;
    return sotto_engine_attach_gpu(engine, &gpu, NULL);
}

static void attach_gpu(void* self, int index, const Value* argument, Value* result) {
    const Value server = gd_singleton("RenderingServer");
    const Value device = GD_GET(server, "get_rendering_device");
    const Value driver = GD_GET(server, "get_current_rendering_driver_name");
    const bool is_d3d12 = gd_to_int(GD_CALL(driver, "contains", gd_chars("d3d12"))) != 0;
    sotto_str reason = str("Godot has no RenderingDevice: expected the renderer Forward+ or Mobile");
    if (gd_to_object(&device) != NULL) {
        reason = engine_open();
        reason = reason.size == 0 ? reason_of(attach(device, is_d3d12)) : reason;
    }
    *result = gd_bool(report(reason));
    gd_drop(driver);
}

static Class sotto_class = {
    .name = "Sotto",
    .parent = "Object",
    .methods = {
        {"describe", describe, .result = {"", DICTIONARY}, .is_static = true},
        {"attach_gpu", attach_gpu, .result = {"", BOOL}, .is_static = true},
    },
};
static Class* const classes[CLASSES] = {&answer_class, &character_class, &sotto_class};

static void initialize(void* userdata, GDExtensionInitializationLevel level) {
    static const GDExtensionMainLoopCallbacks callbacks = {NULL, close_all, end_frame};
    if (level == GDEXTENSION_INITIALIZATION_SCENE) {
        is_main_thread = true;
        for (int i = 0; i < CLASSES; ++i) {
            gd_add_class(classes[i]);
        }
        gd.register_main_loop_callbacks(gd.library, &callbacks);
    }
}

static void deinitialize(void* userdata, GDExtensionInitializationLevel level) {
    if (level == GDEXTENSION_INITIALIZATION_SCENE) {
        close_all(); /* a reload calls no callback */
        for (int i = CLASSES - 1; i >= 0; --i) {
            gd_remove_class(classes[i]);
        }
    }
}

SOTTO_EXPORT GDExtensionBool
sotto_godot_init(GDExtensionInterfaceGetProcAddress find, void* library, GDExtensionInitialization* entry) {
    *entry = (GDExtensionInitialization){GDEXTENSION_INITIALIZATION_SCENE, NULL, initialize, deinitialize};
    return gd_open(find, library);
}
