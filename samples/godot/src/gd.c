#include "gd.h"

#include <stdio.h>
#include <stdlib.h>

typedef void* Word;                 /* a String or a StringName */
enum { READ_ONLY = 0, STORED = 6 }; /* PropertyUsageFlags */

struct Gd gd;
static GDExtensionVariantFromTypeConstructorFunc from_type[GDEXTENSION_VARIANT_TYPE_VARIANT_MAX];
static GDExtensionTypeFromVariantConstructorFunc to_type[GDEXTENSION_VARIANT_TYPE_VARIANT_MAX];
static GDExtensionPtrDestructor free_type[GDEXTENSION_VARIANT_TYPE_VARIANT_MAX];
static _Thread_local struct {
    Word words[16];
    Kind kinds[16];
    int count;
} kept; /* words that Godot reads during one call */

bool gd_open(GDExtensionInterfaceGetProcAddress find, GDExtensionClassLibraryPtr library) {
    bool found = true;
    gd.library = library;
#define FIND(name, type)                                                                                     \
    found = (gd.name = (GDExtensionInterface##type)(void (*)(void))find(#name)) != NULL && found;
    GD_FUNCTIONS(FIND)
    for (int kind = BOOL; found && kind < GDEXTENSION_VARIANT_TYPE_VARIANT_MAX; ++kind) {
        from_type[kind] = gd.get_variant_from_type_constructor((GDExtensionVariantType)kind);
        to_type[kind] = gd.get_variant_to_type_constructor((GDExtensionVariantType)kind);
        free_type[kind] = gd.variant_get_ptr_destructor((GDExtensionVariantType)kind);
    }
    return found;
}

static Word make_word(Kind kind, const char* chars) {
    Word word = NULL;
    if (kind == NAME) {
        gd.string_name_new_with_utf8_chars(&word, chars);
    } else {
        gd.string_new_with_utf8_chars_and_len2(&word, chars, (int64_t)strlen(chars));
    }
    return word;
}

static Word* keep(Kind kind, const char* chars) {
    kept.kinds[kept.count] = kind;
    kept.words[kept.count] = make_word(kind, chars == NULL ? "" : chars);
    return &kept.words[kept.count++];
}

static void drop_kept(void) {
    for (; kept.count > 0; --kept.count) {
        free_type[kept.kinds[kept.count - 1]](&kept.words[kept.count - 1]);
    }
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

void gd_replace(Value* old, Value value) {
    gd_drop(*old);
    *old = value;
}

void gd_read(Kind kind, const Value* value, void* content) {
    to_type[kind](content, (void*)value);
}

GDExtensionObjectPtr gd_to_object(const Value* value) {
    GDExtensionObjectPtr object = NULL;
    gd_read(OBJECT, value, &object);
    return object;
}

int64_t gd_to_int(Value value) {
    int64_t number = 0;
    gd_read(INT, &value, &number);
    gd_drop(value);
    return number;
}

char* gd_to_chars(Value value) {
    Word text = NULL;
    gd_read(TEXT, &value, &text);
    gd_drop(value);
    const int64_t size = gd.string_to_utf8_chars(&text, NULL, 0);
    char* chars = calloc((size_t)size + 1, 1);
    if (chars != NULL) {
        gd.string_to_utf8_chars(&text, chars, size);
    }
    free_type[TEXT](&text);
    return chars;
}

Value gd_call(Value self, const char* method, Value* args, int count) {
    GDExtensionConstVariantPtr pointers[8];
    for (int i = 0; i < count; ++i) {
        pointers[i] = &args[i];
    }
    Word name = make_word(NAME, method);
    Value result;
    GDExtensionCallError error;
    gd.variant_call(&self, &name, pointers, count, &result, &error);
    free_type[NAME](&name);
    for (int i = 0; i < count; ++i) {
        gd_drop(args[i]);
    }
    return result;
}

Value gd_singleton(const char* name) {
    Word word = make_word(NAME, name);
    const Value found = gd_object(gd.global_get_singleton(&word));
    free_type[NAME](&word);
    return found;
}

/* Makes an instance, also for an object that lives on while the extension is reloaded. */
static GDExtensionClassInstancePtr make_instance(void* userdata, GDExtensionObjectPtr object) {
    const Class* class = userdata;
    GDExtensionCallError error;
    Value* self = calloc(1, class->size);
    for (int i = 0; self != NULL && class->properties[i].name != NULL; ++i) {
        gd.variant_construct((GDExtensionVariantType)class->properties[i].kind, &self[i], NULL, 0, &error);
    }
    if (self != NULL && class->init != NULL) {
        class->init(self, object);
    }
    return self;
}

GDExtensionObjectPtr gd_create(Class* class, void** self) {
    GDExtensionObjectPtr object = gd.classdb_construct_object2(keep(NAME, class->parent));
    *self = make_instance(class, object);
    gd.object_set_instance(object, keep(NAME, class->name), *self);
    drop_kept();
    return object;
}

static GDExtensionObjectPtr create(void* userdata, GDExtensionBool notify) {
    void* self;
    GDExtensionObjectPtr object = gd_create(userdata, &self);
    if (notify && ((const Class*)userdata)->notified != NULL) { /* not a RefCounted: the call would end it */
        gd_drop(GD_CALL(gd_object(object), "notification", gd_int(0))); /* NOTIFICATION_POSTINITIALIZE */
    }
    return object;
}

static void destroy(void* userdata, GDExtensionClassInstancePtr self) {
    const Class* class = userdata;
    class->end(self);
    for (int i = 0; class->properties[i].name != NULL; ++i) {
        gd_drop(((Value*)self)[i]);
    }
    free(self);
}

static void get(void* self, int index, const Value* argument, Value* result) {
    *result = gd_copy(&((Value*)self)[index]);
}

/* Runs a method that is called with Variants. */
static void run(
    void* method, void* self, const void* const* args, int64_t count, void* out, GDExtensionCallError* error
) {
    const Method* called = method;
    error->expected = called->params[0].kind != 0;
    error->error = count == error->expected  ? GDEXTENSION_CALL_OK
                   : count < error->expected ? GDEXTENSION_CALL_ERROR_TOO_FEW_ARGUMENTS
                                             : GDEXTENSION_CALL_ERROR_TOO_MANY_ARGUMENTS;
    if (error->error == GDEXTENSION_CALL_OK) {
        called->run(self, called->index, count > 0 ? args[0] : NULL, out);
    }
}

/* Runs a method that is called with plain types, as in GDScript with static types. */
static void run_typed(void* method, void* self, const void* const* args, void* out) {
    const Method* called = method;
    const Kind kind = called->result.kind, param = called->params[0].kind;
    const Value argument = param == 0 ? (Value){0} : gd_make(param, args[0]);
    Value returned = {0};
    called->run(self, called->index, &argument, &returned);
    if (kind == OBJECT) {
        gd.ref_set_object(out, gd_to_object(&returned));
    } else if (kind != 0) {
        if (free_type[kind] != NULL) {
            free_type[kind](out); /* the empty one that Godot made */
        }
        gd_read(kind, &returned, out);
    }
    gd_drop(returned);
    gd_drop(argument);
}

static GDExtensionPropertyInfo describe(const Property* property, uint32_t usage) {
    Word *name = keep(NAME, property->name), *hint = keep(TEXT, property->hint_text);
    Word* class_name = keep(NAME, property->kind == OBJECT ? property->hint_text : NULL);
    return (GDExtensionPropertyInfo){property->kind, name, class_name, property->hint, hint, usage};
}

static void add_method(const Class* class, const char* name, Method* method) {
    const Property *first = &method->params[0], *second = &method->params[1];
    GDExtensionPropertyInfo params[] = {describe(first, STORED), describe(second, STORED)};
    GDExtensionPropertyInfo result = describe(&method->result, STORED);
    GDExtensionClassMethodArgumentMetadata metadata = GDEXTENSION_METHOD_ARGUMENT_METADATA_NONE;
    GDExtensionClassMethodInfo info = {keep(NAME, name), method, run, run_typed};
    info.method_flags = method->is_static ? GDEXTENSION_METHOD_FLAG_STATIC : GDEXTENSION_METHOD_FLAG_NORMAL;
    info.has_return_value = method->result.kind != 0;
    info.return_value_info = &result;
    info.argument_count = (first->kind != 0) + (second->kind != 0);
    info.arguments_info = params;
    info.arguments_metadata = &metadata;
    Word* owner = keep(NAME, class->name);
    if (method->run != NULL) {
        gd.classdb_register_extension_class_method(gd.library, owner, &info);
    } else {
        gd.classdb_register_extension_class_signal(gd.library, owner, info.name, params, info.argument_count);
    }
    drop_kept();
}

static void add_property(Class* class, int index) {
    const Property* field = &class->properties[index];
    char getter[64], setter[64] = "";
    snprintf(getter, sizeof getter, field->kind == BOOL ? "is_%s" : "get_%s", field->name);
    class->getters[index] = (Method){NULL, get, .result = {"", field->kind}, .index = index};
    add_method(class, getter, &class->getters[index]);
    if (class->set != NULL) {
        snprintf(setter, sizeof setter, "set_%s", field->name);
        class->setters[index] = (Method){NULL, class->set, .params = {*field}, .index = index};
        add_method(class, setter, &class->setters[index]);
    }
    const GDExtensionPropertyInfo info = describe(field, class->set != NULL ? STORED : READ_ONLY);
    Word *name = keep(NAME, class->name), *get_name = keep(NAME, getter), *set_name = keep(NAME, setter);
    gd.classdb_register_extension_class_property(gd.library, name, &info, set_name, get_name);
    drop_kept();
}

void gd_add_class(Class* class) {
    GDExtensionClassCreationInfo5 info = {.is_exposed = true, .class_userdata = class};
    info.is_abstract = class->size == 0;
    info.create_instance_func = info.is_abstract ? NULL : create;
    info.free_instance_func = info.is_abstract ? NULL : destroy;
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
