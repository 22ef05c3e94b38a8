#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "speech.h"

sotto_engine* engine;
static Model* models;
static bool in_frame;
static double worked_ms; /* CPU time of the main thread at the end of the last frame */
static const char* const monitors[] = {"sotto/tokens_per_s", "sotto/memory_mib", "sotto/slack_ms"};

sotto_str str(const char* text) {
    return (sotto_str){text == NULL ? "" : text, SOTTO_NUL};
}

char* copied(sotto_str text) {
    const size_t size = text.size == SOTTO_NUL ? strlen(text.data) : text.size;
    char* copy = calloc(size + 1, 1);
    return copy == NULL || size == 0 ? copy : memcpy(copy, text.data, size);
}

const char* last_error(void) {
    static char reason[1024];
    const sotto_str error = sotto_last_error();
    snprintf(reason, sizeof reason, "%.*s", (int)error.size, error.data);
    return reason;
}

static void SOTTO_CALL write_log(void* self, sotto_log_level level, sotto_str message) {
    (void)self;
    char* line = copied(message);
    (level <= SOTTO_LOG_ERROR ? gd.print_error : gd.print_warning)(line, "sotto", "libsotto", 0, true);
    free(line);
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
    GDExtensionObjectPtr display = gd_singleton("DisplayServer");
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

void engine_end_frame(void) {
    if (engine == NULL) {
        return;
    }
    sotto_frame_end_desc end = SOTTO_INIT(sotto_frame_end_desc);
    const double now = thread_ms();
    end.busy_ms = (float)(now - worked_ms);
    worked_ms = now;
    in_frame = false;
    sotto_engine_frame_end(engine, &end);
}

static void read_monitor(
    void* monitor,
    const GDExtensionConstVariantPtr* args,
    GDExtensionInt count,
    GDExtensionVariantPtr result,
    GDExtensionCallError* error
) {
    (void)args, (void)count;
    error->error = GDEXTENSION_CALL_OK;
    sotto_stats stats = SOTTO_INIT(sotto_stats);
    sotto_engine_stats(engine, &stats);
    const double slack = (double)period_ns() / 1e6 - stats.frame_p50_ms;
    const double figures[] = {
        stats.tokens_per_s, (double)stats.bytes_in_use / 1048576, slack > 0 ? slack : 0
    };
    *(Value*)result = gd_real(figures[(const char* const*)monitor - monitors]);
}

static Value setting(const char* name, Value fallback) {
    return GD_CALL(gd_singleton("ProjectSettings"), "get_setting", gd_chars(name), fallback);
}

const char* engine_open(void) {
    static char reason[1024];
    const sotto_str version = sotto_version();
    const int minor = (int)(strrchr(SOTTO_VERSION, '.') - SOTTO_VERSION);
    if (engine != NULL) {
        return NULL;
    }
    if (version.size < (size_t)minor || strncmp(version.data, SOTTO_VERSION, (size_t)minor + 1) != 0) {
        const char* form = "invalid version '%.*s' of the library libsotto: expected " SOTTO_VERSION
                           "; copy the libraries of one release into the addon";
        snprintf(reason, sizeof reason, form, (int)version.size, version.data);
        return reason;
    }
    const sotto_log_sink log = {sizeof log, 0, write_log, NULL};
    sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
    const Value device = setting("sotto/device", gd_text("", 0));
    char* device_name = gd_to_chars(&device);
    desc.device = str(device_name);
    desc.vram_budget = (uint64_t)gd_to_int(setting("sotto/memory_budget_mib", gd_int(0))) << 20;
    desc.mode = (sotto_mode)gd_to_int(setting("sotto/mode", gd_int(0)));
    desc.log = &log;
    desc.files = &godot_files;
    const sotto_status status = sotto_engine_create(&desc, &engine);
    free(device_name);
    gd_drop(device);
    for (int i = 0; i < 3 && status >= 0; ++i) {
        const Value callable = gd_callable(read_monitor, (void*)&monitors[i]);
        gd_drop(GD_CALL(gd_singleton("Performance"), "add_custom_monitor", gd_name(monitors[i]), callable));
    }
    return status < 0 ? last_error() : NULL;
}

void engine_close(void) {
    for (int i = 0; i < 3 && engine != NULL; ++i) {
        gd_drop(GD_CALL(gd_singleton("Performance"), "remove_custom_monitor", gd_name(monitors[i])));
    }
    sotto_engine_destroy(engine);
    engine = NULL;
    while (models != NULL) {
        Model* gone = models;
        models = gone->next;
        free(gone);
    }
}

Model* engine_model(const char* id) {
    Model* model = models;
    while (model != NULL && strcmp(model->id, id) != 0) {
        model = model->next;
    }
    if (model == NULL && (model = calloc(1, sizeof *model + strlen(id))) != NULL) {
        strcpy(model->id, id);
        model->next = models;
        models = model;
    }
    sotto_model_desc desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str(id);
    if (model != NULL && !model->ready && model->loading == 0 &&
        sotto_engine_load_model(engine, &desc, &model->loading) < 0) {
        return NULL;
    }
    return model;
}

const Model* engine_loaded(sotto_request request, bool ready) {
    for (Model* model = models; model != NULL; model = model->next) {
        if (model->loading == request) {
            model->loading = 0;
            model->ready = ready;
            return model;
        }
    }
    return NULL;
}

static void describe(void* self, int index, const Value* argument, Value* result) {
    (void)self, (void)index, (void)argument;
    sotto_str json = {"{}", 2};
    const char* reason = engine_open();
    if (reason != NULL || sotto_engine_describe(engine, &json) < 0) {
        gd_error(reason != NULL ? reason : "out of memory");
    }
    *result = GD_STATIC("JSON", "parse_string", gd_text(json.data, json.size));
}

/* Returns a handle or a number of Godot's RenderingDevice; `which` is a RenderingDevice.DriverResource. */
static uint64_t resource(GDExtensionObjectPtr device, int which) {
    const Value none = gd_make(RID, &(uint64_t){0});
    return (uint64_t)gd_to_int(GD_CALL(device, "get_driver_resource", gd_int(which), none, gd_int(0)));
}

static const char* attach(GDExtensionObjectPtr device, bool is_d3d12) {
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
    return sotto_engine_attach_gpu(engine, &gpu, NULL) < 0 ? last_error() : NULL;
}

static void attach_gpu(void* self, int index, const Value* argument, Value* result) {
    (void)self, (void)index, (void)argument;
    GDExtensionObjectPtr server = gd_singleton("RenderingServer"), device = NULL;
    const Value held = GD_GET(server, "get_rendering_device");
    const Value driver = GD_GET(server, "get_current_rendering_driver_name");
    char* name = gd_to_chars(&driver);
    gd_read(OBJECT, &held, &device);
    const char* reason = engine_open();
    if (device == NULL) {
        reason = "Godot has no RenderingDevice: expected the renderer Forward+ or Mobile";
    } else if (reason == NULL) {
        reason = attach(device, name != NULL && strcmp(name, "d3d12") == 0);
    }
    if (reason != NULL) {
        gd_error(reason);
    }
    *result = gd_bool(reason == NULL);
    free(name);
    gd_drop(driver);
}

static const Method methods[] = {
    {"describe", describe, .result = {"", DICTIONARY}, .is_static = true},
    {"attach_gpu", attach_gpu, .result = {"", BOOL}, .is_static = true},
    {NULL},
};
const Class engine_class = {"Sotto", "Object", .methods = methods};
