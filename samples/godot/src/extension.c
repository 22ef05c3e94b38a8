/* The entry of the extension: adds its classes, and runs its part of each frame. */
#include "speech.h"

static const Class* const classes[] = {&answer_class, &character_class, &engine_class};

static void on_startup(void) {}

static void on_shutdown(void) {
    answers_end();
    engine_close();
}

/* Runs after every _process(). */
static void on_frame(void) {
    answers_deliver();
    engine_end_frame();
}

static void initialize(void* userdata, GDExtensionInitializationLevel level) {
    (void)userdata;
    static const GDExtensionMainLoopCallbacks callbacks = {on_startup, on_shutdown, on_frame};
    if (level == GDEXTENSION_INITIALIZATION_SCENE) {
        character_main_thread();
        for (int i = 0; i < 3; ++i) {
            gd_add_class(classes[i]);
        }
        gd.register_main_loop_callbacks(gd.library, &callbacks);
    }
}

static void deinitialize(void* userdata, GDExtensionInitializationLevel level) {
    (void)userdata;
    if (level == GDEXTENSION_INITIALIZATION_SCENE) {
        on_shutdown(); /* of a reload, which calls no callback */
        for (int i = 2; i >= 0; --i) {
            gd_remove_class(classes[i]);
        }
    }
}

SOTTO_EXPORT GDExtensionBool sotto_godot_init(
    GDExtensionInterfaceGetProcAddress find,
    GDExtensionClassLibraryPtr library,
    GDExtensionInitialization* initialization
) {
    *initialization =
        (GDExtensionInitialization){GDEXTENSION_INITIALIZATION_SCENE, NULL, initialize, deinitialize};
    return gd_open(find, library);
}
