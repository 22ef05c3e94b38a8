#include "gd.h"

#include <stdio.h>
#include <stdlib.h>

typedef void* Word; /* a String or a StringName */

struct Gd gd;
static Value kept[16]; /* Strings and StringNames that Godot reads during one registration */
static int kept_count;
static _Thread_local bool is_main_thread;
static const GDExtensionInstanceBindingCallbacks no_callbacks;

bool gd_open(GDExtensionInterfaceGetProcAddress find, GDExtensionClassLibraryPtr library) {
    bool found = true;
    is_main_thread = true;
    gd.library = library;
#define FIND(name, type)                                                                                     \
    found = (gd.name = (GDExtensionInterface##type)(void (*)(void))find(#name)) != NULL && found;
    GD_FUNCTIONS(FIND)
    return found;
}

bool gd_in_main_thread(const char* call) {
    char error[128];
    if (!is_main_thread && call != NULL) {
        snprintf(error, sizeof error, "%s() was called outside the main thread; use call_deferred()", call);
        gd.print_error(error, call, "addons/sotto", 0, true);
    }
    return is_main_thread;
}

/* Makes a value that is a String or a StringName. Returns the text inside. */
static Word* make_word(Value* value, Kind kind, const char* utf8) {
    const Value text = gd_chars(utf8 == NULL ? "" : utf8);
    GDExtensionConstVariantPtr argument = &text;
    gd.variant_construct(kind, value, &argument, 1, NULL);
    gd_drop(text);
    return gd.variant_get_ptr_internal_getter(kind)(value);
}

static Word* keep(Kind kind, const char* utf8) {
    return make_word(&kept[kept_count++], kind, utf8);
}

static void drop_kept(void) {
    while (kept_count > 0) {
        gd_drop(kept[--kept_count]);
    }
}

Value gd_make(Kind kind, const void* content) {
    Value made;
    gd.get_variant_from_type_constructor(kind)(&made, (void*)content);
    return made;
}

static void destroy_content(Kind kind, void* content) {
    const GDExtensionPtrDestructor destroy = gd.variant_get_ptr_destructor(kind);
    if (destroy != NULL) {
        destroy(content);
    }
}

Value gd_text(const char* utf8, size_t size) {
    Word text = NULL;
    gd.string_new_with_utf8_chars_and_len2(&text, utf8, (int64_t)size);
    const Value made = gd_make(TEXT, &text);
    destroy_content(TEXT, &text);
    return made;
}

Value gd_callable(GDExtensionCallableCustomCall call, void* userdata) {
    GDExtensionCallableCustomInfo2 info = {userdata, gd.library, .call_func = call};
    Word callable[2];
    gd.callable_custom_create2(callable, &info);
    const Value made = gd_make(CALLABLE, callable);
    destroy_content(CALLABLE, callable);
    return made;
}

Value gd_copy(const Value* value) {
    Value made;
    gd.variant_new_copy(&made, value);
    return made;
}

void gd_drop(Value value) {
    gd.variant_destroy(&value);
}

void gd_replace(Value* old, Value value) {
    gd_drop(*old);
    *old = value;
}

void gd_read(Kind kind, const Value* value, void* content) {
    gd.get_variant_to_type_constructor(kind)(content, (void*)value);
}

GDExtensionObjectPtr gd_to_object(const Value* value) {
    GDExtensionObjectPtr object;
    gd_read(OBJECT, value, &object);
    return object;
}

int64_t gd_to_int(Value value) {
    int64_t number;
    gd_read(INT, &value, &number);
    gd_drop(value);
    return number;
}

int32_t gd_to_int32(Value value) {
    const int64_t number = gd_to_int(value);
    return (int32_t)(number < INT32_MIN ? INT32_MIN : number > INT32_MAX ? INT32_MAX : number);
}

char* gd_to_chars(Value value) {
    Word text;
    gd_read(TEXT, &value, &text);
    gd_drop(value);
    const int64_t size = gd.string_to_utf8_chars(&text, NULL, 0);
    char* chars = calloc((size_t)size + 1, 1);
    if (chars != NULL) {
        gd.string_to_utf8_chars(&text, chars, size);
    }
    destroy_content(TEXT, &text);
    return chars;
}

Value gd_call(Value self, const char* method, Value* args, int count) {
    GDExtensionConstVariantPtr pointers[8];
    Value name, result;
    for (int i = 0; i < count; ++i) {
        pointers[i] = &args[i];
    }
    gd.variant_call(&self, make_word(&name, NAME, method), pointers, count, &result, NULL);
    gd_drop(name);
    for (int i = 0; i < count; ++i) {
        gd_drop(args[i]);
    }
    return result;
}

Value gd_singleton(const char* name) {
    Value word;
    const GDExtensionObjectPtr found = gd.global_get_singleton(make_word(&word, NAME, name));
    gd_drop(word);
    return gd_object(found);
}

/* Makes an instance, also for an object that lives on while the extension is reloaded. */
static GDExtensionClassInstancePtr make_instance(void* userdata, GDExtensionObjectPtr object) {
    const Class* class = userdata;
    Value* self = calloc(1, class->size);
    for (int i = 0; self != NULL && class->properties[i].name != NULL; ++i) {
        gd.variant_construct(class->properties[i].kind, &self[i], NULL, 0, NULL);
    }
    if (self != NULL && class->init != NULL) {
        class->init(self, object);
    }
    gd.object_set_instance_binding(object, gd.library, self, &no_callbacks);
    return self;
}

void* gd_instance(const Class* class, const Value* object) {
    const GDExtensionObjectPtr found = gd_to_object(object);
    const bool is_ours = found != NULL && gd_to_int(GD_CALL(*object, "is_class", gd_chars(class->name))) != 0;
    return is_ours ? gd.object_get_instance_binding(found, gd.library, &no_callbacks) : NULL;
}

GDExtensionObjectPtr gd_create(Class* class, void** self) {
    Value parent, name;
    GDExtensionObjectPtr object = gd.classdb_construct_object2(make_word(&parent, NAME, class->parent));
    *self = make_instance(class, object);
    gd.object_set_instance(object, make_word(&name, NAME, class->name), *self);
    gd_drop(parent);
    gd_drop(name);
    return object;
}

static GDExtensionObjectPtr create_instance(void* class, GDExtensionBool notify) {
    void* self;
    GDExtensionObjectPtr object = gd_create(class, &self);
    if (notify && ((Class*)class)->notified != NULL) { /* not a RefCounted: the call would end it */
        gd_drop(GD_CALL(gd_object(object), "notification", gd_int(0))); /* NOTIFICATION_POSTINITIALIZE */
    }
    return object;
}

static void destroy_instance(void* userdata, GDExtensionClassInstancePtr self) {
    const Class* class = userdata;
    class->end(self);
    for (int i = 0; class->properties[i].name != NULL; ++i) {
        gd_drop(((Value*)self)[i]);
    }
    free(self);
}

void gd_get(void* self, int index, const Value* argument, Value* result) {
    *result = gd_copy(&((Value*)self)[index]);
}

/* Runs a method. Only getters and setters, which have no names here, run outside the main thread. */
static void run(const Method* method, void* self, const Value* argument, Value* result) {
    if (method->name == NULL || gd_in_main_thread(method->name)) {
        method->run(self, method->index, argument, result);
    }
}

/* Runs a method that is called with Variants. */
static void run_untyped(
    void* method, void* self, const void* const* args, int64_t count, void* out, GDExtensionCallError* error
) {
    const Kind kind = ((const Method*)method)->params[0].kind;
    error->expected = kind != 0;
    error->error = count == error->expected  ? GDEXTENSION_CALL_OK
                   : count < error->expected ? GDEXTENSION_CALL_ERROR_TOO_FEW_ARGUMENTS
                                             : GDEXTENSION_CALL_ERROR_TOO_MANY_ARGUMENTS;
    if (kind != 0 && count == 1 && !gd.variant_can_convert_strict(gd.variant_get_type(args[0]), kind)) {
        *error = (GDExtensionCallError){GDEXTENSION_CALL_ERROR_INVALID_ARGUMENT, 0, kind};
    }
    if (error->error == GDEXTENSION_CALL_OK) {
        run(method, self, count > 0 ? args[0] : NULL, out);
    }
}

/* Runs a method that is called with plain types, as in GDScript with static types. */
static void run_typed(void* method, void* self, const void* const* args, void* out) {
    const Kind kind = ((const Method*)method)->result.kind, param = ((const Method*)method)->params[0].kind;
    const Value argument = param == 0 ? (Value){0} : gd_make(param, args[0]);
    Value returned = {0};
    run(method, self, &argument, &returned);
    if (kind == OBJECT) {
        gd.ref_set_object(out, gd_to_object(&returned));
    } else if (kind != 0) {
        destroy_content(kind, out); /* the empty one that Godot made */
        gd_read(kind, &returned, out);
    }
    gd_drop(returned);
    gd_drop(argument);
}

static GDExtensionPropertyInfo describe(const Property* property) {
    Word *name = keep(NAME, property->name), *hint = keep(TEXT, property->hint_text);
    Word* class_name = keep(NAME, property->kind == OBJECT ? property->hint_text : NULL);
    const uint32_t usage = 6; /* PROPERTY_USAGE_DEFAULT */
    return (GDExtensionPropertyInfo){property->kind, name, class_name, property->hint, hint, usage};
}

static void add_method(const Class* class, const char* name, Method* method) {
    const Property *first = &method->params[0], *second = &method->params[1];
    const uint32_t count = (first->kind != 0) + (second->kind != 0);
    const uint32_t flags =
        method->is_static ? GDEXTENSION_METHOD_FLAG_STATIC : GDEXTENSION_METHOD_FLAG_NORMAL;
    Word *owner = keep(NAME, class->name), *called = keep(NAME, name);
    GDExtensionPropertyInfo params[] = {describe(first), describe(second)};
    GDExtensionPropertyInfo result = describe(&method->result);
    GDExtensionClassMethodArgumentMetadata none = GDEXTENSION_METHOD_ARGUMENT_METADATA_NONE;
    const GDExtensionClassMethodInfo info = {
        called, method, run_untyped, run_typed, flags, result.type != 0, &result, none, count, params, &none
    };
    if (method->run != NULL) {
        gd.classdb_register_extension_class_method(gd.library, owner, &info);
    } else {
        gd.classdb_register_extension_class_signal(gd.library, owner, called, params, count);
    }
    drop_kept();
}

static void add_property(Class* class, int index) {
    const Property* field = &class->properties[index];
    char getter[64], setter[64] = "";
    snprintf(getter, sizeof getter, field->kind == BOOL ? "is_%s" : "get_%s", field->name);
    Run* get = class->get != NULL ? class->get : gd_get;
    class->getters[index] = (Method){NULL, get, .result = {"", field->kind}, .index = index};
    add_method(class, getter, &class->getters[index]);
    if (class->set != NULL) {
        snprintf(setter, sizeof setter, "set_%s", field->name);
        class->setters[index] = (Method){NULL, class->set, .params = {*field}, .index = index};
        add_method(class, setter, &class->setters[index]);
    }
    const GDExtensionPropertyInfo info = describe(field);
    Word *name = keep(NAME, class->name), *get_name = keep(NAME, getter), *set_name = keep(NAME, setter);
    gd.classdb_register_extension_class_property(gd.library, name, &info, set_name, get_name);
    drop_kept();
}

void gd_add_class(Class* class) {
    GDExtensionClassCreationInfo5 info = {.is_exposed = true, .class_userdata = class};
    info.is_abstract = class->size == 0;
    info.create_instance_func = info.is_abstract ? NULL : create_instance;
    info.free_instance_func = info.is_abstract ? NULL : destroy_instance;
    info.recreate_instance_func = info.is_abstract ? NULL : make_instance;
    info.notification_func = class->notified;
    Word *name = keep(NAME, class->name), *parent = keep(NAME, class->parent);
    gd.classdb_register_extension_class5(gd.library, name, parent, &info);
    drop_kept();
    for (Method* method = class->methods; method->name != NULL; ++method) {
        add_method(class, method->name, method);
    }
    for (int i = 0; class->properties[i].name != NULL; ++i) {
        add_property(class, i);
    }
}

void gd_remove_class(const Class* class) {
    gd.classdb_unregister_extension_class(gd.library, keep(NAME, class->name));
    drop_kept();
}
