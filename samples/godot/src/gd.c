#include "gd.h"

#include <stdlib.h>
#include <string.h>

typedef void* Word; /* a String or a StringName */

Gd gd;
static GDExtensionVariantFromTypeConstructorFunc from_type[GDEXTENSION_VARIANT_TYPE_VARIANT_MAX];
static GDExtensionTypeFromVariantConstructorFunc to_type[GDEXTENSION_VARIANT_TYPE_VARIANT_MAX];
static GDExtensionPtrDestructor free_type[GDEXTENSION_VARIANT_TYPE_VARIANT_MAX];
static struct {
    Word words[24];
    Kind kinds[24];
    int count;
} kept; /* words that Godot reads during one registration */

bool gd_open(GDExtensionInterfaceGetProcAddress find, GDExtensionClassLibraryPtr library) {
    bool found = true;
    gd.library = library;
#define FIND(name, type)                                                                                     \
    found = (gd.name = (GDExtensionInterface##type)(void (*)(void))find(#name)) != NULL && found;
    GD_FUNCTIONS(FIND)
    for (int kind = BOOL; found && kind < GDEXTENSION_VARIANT_TYPE_VARIANT_MAX; ++kind) {
        from_type[kind] = gd.get_variant_from_type_constructor((Kind)kind);
        to_type[kind] = gd.get_variant_to_type_constructor((Kind)kind);
        free_type[kind] = gd.variant_get_ptr_destructor((Kind)kind);
    }
    return found;
}

Value gd_make(Kind kind, const void* content) {
    Value made;
    from_type[kind](&made, (void*)content);
    return made;
}

Value gd_text(const char* utf8, size_t size) {
    Word text = NULL;
    gd.string_new_with_utf8_chars_and_len2(&text, utf8, (int64_t)size);
    const Value made = gd_make(TEXT, &text);
    free_type[TEXT](&text);
    return made;
}

static Word* keep(Kind kind, const char* chars) {
    Word* word = &kept.words[kept.count];
    kept.kinds[kept.count++] = kind;
    *word = NULL;
    if (kind == NAME) {
        gd.string_name_new_with_utf8_chars(word, chars == NULL ? "" : chars);
    } else {
        gd.string_new_with_utf8_chars_and_len2(word, chars, chars == NULL ? 0 : (int64_t)strlen(chars));
    }
    return word;
}

static void drop_kept(void) {
    while (kept.count > 0) {
        --kept.count;
        free_type[kept.kinds[kept.count]](&kept.words[kept.count]);
    }
}

Value gd_name(const char* ascii) {
    Word name = NULL;
    gd.string_name_new_with_utf8_chars(&name, ascii);
    const Value made = gd_make(NAME, &name);
    free_type[NAME](&name);
    return made;
}

Value gd_copy(const Value* value) {
    Value made;
    gd.variant_new_copy(&made, value);
    return made;
}

Value gd_callable(GDExtensionCallableCustomCall call, void* userdata) {
    GDExtensionCallableCustomInfo2 info = {userdata, gd.library, .call_func = call};
    uint64_t callable[2];
    gd.callable_custom_create2(callable, &info);
    const Value made = gd_make(CALLABLE, callable);
    free_type[CALLABLE](callable);
    return made;
}

void gd_drop(Value value) {
    gd.variant_destroy(&value);
}

void gd_read(Kind kind, const Value* value, void* content) {
    to_type[kind](content, (void*)value);
}

int64_t gd_to_int(Value value) {
    int64_t number = 0;
    gd_read(INT, &value, &number);
    gd_drop(value);
    return number;
}

char* gd_to_chars(const Value* value) {
    Word text = NULL;
    gd_read(TEXT, value, &text);
    const int64_t size = gd.string_to_utf8_chars(&text, NULL, 0);
    char* chars = calloc((size_t)size + 1, 1);
    if (chars != NULL) {
        gd.string_to_utf8_chars(&text, chars, size);
    }
    free_type[TEXT](&text);
    return chars;
}

Value gd_call(GDExtensionObjectPtr object, const char* method, Value* args, int count) {
    GDExtensionConstVariantPtr pointers[8];
    for (int i = 0; i < count; ++i) {
        pointers[i] = &args[i];
    }
    Value self = gd_object(object), result;
    Word name = NULL;
    GDExtensionCallError error;
    gd.string_name_new_with_utf8_chars(&name, method);
    gd.variant_call(&self, &name, pointers, count, &result, &error);
    free_type[NAME](&name);
    gd_drop(self);
    for (int i = 0; i < count; ++i) {
        gd_drop(args[i]);
    }
    return result;
}

GDExtensionObjectPtr gd_singleton(const char* name) {
    Word word = NULL;
    gd.string_name_new_with_utf8_chars(&word, name);
    GDExtensionObjectPtr found = gd.global_get_singleton(&word);
    free_type[NAME](&word);
    return found;
}

void gd_error(const char* message) {
    gd.print_error(message, "sotto", "addons/sotto", 0, true);
}

GDExtensionObjectPtr gd_create(const Class* class, void** self) {
    GDExtensionObjectPtr object = gd.classdb_construct_object2(keep(NAME, class->parent));
    *self = calloc(1, class->size);
    if (*self != NULL) {
        class->init(*self, object);
        gd.object_set_instance(object, keep(NAME, class->name), *self);
    }
    drop_kept();
    return object;
}

static GDExtensionObjectPtr create(void* class, GDExtensionBool notify) {
    void* self;
    GDExtensionObjectPtr object = gd_create(class, &self);
    if (notify && ((const Class*)class)->notified != NULL) { /* not of a RefCounted: the call would end it */
        gd_drop(GD_CALL(object, "notification", gd_int(0))); /* NOTIFICATION_POSTINITIALIZE */
    }
    return object;
}

/* Makes the instance of an object that lives on while the extension is reloaded. */
static GDExtensionClassInstancePtr recreate(void* class, GDExtensionObjectPtr object) {
    void* self = calloc(1, ((const Class*)class)->size);
    if (self != NULL) {
        ((const Class*)class)->init(self, object);
    }
    return self;
}

static void destroy(void* class, GDExtensionClassInstancePtr self) {
    ((const Class*)class)->end(self);
    free(self);
}

/* Runs a method that is called with Variants. */
static void
run(void* method,
    GDExtensionClassInstancePtr self,
    const GDExtensionConstVariantPtr* args,
    GDExtensionInt count,
    GDExtensionVariantPtr result,
    GDExtensionCallError* error) {
    const Method* called = method;
    const GDExtensionInt expected = called->param.kind != 0;
    error->error = GDEXTENSION_CALL_OK;
    if (count == expected) {
        called->run(self, called->index, count > 0 ? args[0] : NULL, result);
        return;
    }
    error->error = count < expected ? GDEXTENSION_CALL_ERROR_TOO_FEW_ARGUMENTS
                                    : GDEXTENSION_CALL_ERROR_TOO_MANY_ARGUMENTS;
    error->expected = (int32_t)expected;
}

/* Runs a method that is called with plain types, as in GDScript with static types. */
static void
run_typed(void* method, GDExtensionClassInstancePtr self, const GDExtensionConstTypePtr* args, void* result) {
    const Method* called = method;
    const Value argument = called->param.kind == 0 ? (Value){0} : gd_make(called->param.kind, args[0]);
    Value returned = {0};
    called->run(self, called->index, &argument, &returned);
    if (called->result.kind > REAL && called->result.kind != OBJECT) {
        free_type[called->result.kind](result); /* the empty one that Godot made */
    }
    if (called->result.kind == OBJECT) {
        GDExtensionObjectPtr object = NULL;
        gd_read(OBJECT, &returned, &object);
        gd.ref_set_object(result, object);
    } else if (called->result.kind != 0) {
        gd_read(called->result.kind, &returned, result);
    }
    gd_drop(returned);
    gd_drop(argument);
}

static GDExtensionPropertyInfo describe(const Property* property, bool stored) {
    Word *name = keep(NAME, property->name), *class_name = keep(NAME, property->class_name);
    Word* hint = keep(TEXT, property->hint_text);
    return (GDExtensionPropertyInfo){property->kind, name, class_name, property->hint, hint, stored ? 6 : 0};
}

static void add_method(const Class* class, const Method* method) {
    GDExtensionPropertyInfo result = describe(&method->result, true), param = describe(&method->param, true);
    GDExtensionClassMethodArgumentMetadata metadata = GDEXTENSION_METHOD_ARGUMENT_METADATA_NONE;
    GDExtensionClassMethodInfo info = {keep(NAME, method->name), (void*)method, run, run_typed};
    info.method_flags = method->is_static ? GDEXTENSION_METHOD_FLAG_STATIC : GDEXTENSION_METHOD_FLAG_NORMAL;
    info.has_return_value = method->result.kind != 0;
    info.return_value_info = &result;
    info.argument_count = method->param.kind != 0;
    info.arguments_info = &param;
    info.arguments_metadata = &metadata;
    gd.classdb_register_extension_class_method(gd.library, keep(NAME, class->name), &info);
    drop_kept();
}

static void add_accessor(const Class* class, const Accessor* accessor) {
    const bool writable = accessor->set.name != NULL;
    add_method(class, &accessor->get);
    if (writable) {
        add_method(class, &accessor->set);
    }
    const GDExtensionPropertyInfo info = describe(&accessor->property, writable);
    Word *getter = keep(NAME, accessor->get.name), *setter = keep(NAME, accessor->set.name);
    gd.classdb_register_extension_class_property(gd.library, keep(NAME, class->name), &info, setter, getter);
    drop_kept();
}

void gd_add_class(const Class* class) {
    GDExtensionClassCreationInfo5 info = {.is_exposed = true, .class_userdata = (void*)class};
    info.is_abstract = class->size == 0;
    info.create_instance_func = info.is_abstract ? NULL : create;
    info.free_instance_func = info.is_abstract ? NULL : destroy;
    info.recreate_instance_func = info.is_abstract ? NULL : recreate;
    info.notification_func = class->notified;
    Word *name = keep(NAME, class->name), *parent = keep(NAME, class->parent);
    gd.classdb_register_extension_class5(gd.library, name, parent, &info);
    drop_kept();
    for (const Method* method = class->methods; method != NULL && method->name != NULL; ++method) {
        add_method(class, method);
    }
    for (const Accessor* next = class->accessors; next != NULL && next->property.name != NULL; ++next) {
        add_accessor(class, next);
    }
    for (const char* const* signal = class->signals; signal != NULL && *signal != NULL; ++signal) {
        const Property text = {"text", TEXT}, error = {"error", TEXT};
        const GDExtensionPropertyInfo params[] = {describe(&text, true), describe(&error, true)};
        const int count = signal == class->signals ? 1 : 2;
        Word* class_name = keep(NAME, class->name);
        gd.classdb_register_extension_class_signal(
            gd.library, class_name, keep(NAME, *signal), params, count
        );
        drop_kept();
    }
}

void gd_remove_class(const Class* class) {
    gd.classdb_unregister_extension_class(gd.library, keep(NAME, class->name));
    drop_kept();
}
