/* Values, calls and classes of Godot, for an extension in plain C. */
#ifndef SOTTO_GODOT_GD_H
#define SOTTO_GODOT_GD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <gdextension_interface.h>

#define GD_FUNCTIONS(X)                                                                                      \
    X(callable_custom_create2, CallableCustomCreate2)                                                        \
    X(classdb_construct_object2, ClassdbConstructObject2)                                                    \
    X(classdb_register_extension_class5, ClassdbRegisterExtensionClass5)                                     \
    X(classdb_register_extension_class_method, ClassdbRegisterExtensionClassMethod)                          \
    X(classdb_register_extension_class_property, ClassdbRegisterExtensionClassProperty)                      \
    X(classdb_register_extension_class_signal, ClassdbRegisterExtensionClassSignal)                          \
    X(classdb_unregister_extension_class, ClassdbUnregisterExtensionClass)                                   \
    X(file_access_get_buffer, FileAccessGetBuffer)                                                           \
    X(get_variant_from_type_constructor, GetVariantFromTypeConstructor)                                      \
    X(variant_get_ptr_internal_getter, GetVariantGetInternalPtrFunc)                                         \
    X(get_variant_to_type_constructor, GetVariantToTypeConstructor)                                          \
    X(global_get_singleton, GlobalGetSingleton)                                                              \
    X(object_get_instance_binding, ObjectGetInstanceBinding)                                                 \
    X(object_set_instance, ObjectSetInstance)                                                                \
    X(object_set_instance_binding, ObjectSetInstanceBinding)                                                 \
    X(print_error, PrintError)                                                                               \
    X(print_warning, PrintWarning)                                                                           \
    X(ref_set_object, RefSetObject)                                                                          \
    X(register_main_loop_callbacks, RegisterMainLoopCallbacks)                                               \
    X(string_new_with_utf8_chars_and_len2, StringNewWithUtf8CharsAndLen2)                                    \
    X(string_to_utf8_chars, StringToUtf8Chars)                                                               \
    X(variant_call, VariantCall)                                                                             \
    X(variant_can_convert_strict, VariantCanConvertStrict)                                                   \
    X(variant_construct, VariantConstruct)                                                                   \
    X(variant_destroy, VariantDestroy)                                                                       \
    X(variant_get_ptr_destructor, VariantGetPtrDestructor)                                                   \
    X(variant_get_type, VariantGetType)                                                                      \
    X(variant_new_copy, VariantNewCopy)

#define GD_DECLARE(name, type) GDExtensionInterface##type name;
extern struct Gd {
    GDExtensionClassLibraryPtr library;
    GD_FUNCTIONS(GD_DECLARE)
} gd;

/* A Variant; zeroed: nil. A double-precision build of Godot has five words, and needs its own addon. */
typedef struct Value {
    uint64_t words[3];
} Value;
typedef int Kind; /* a GDExtensionVariantType */
enum { BOOL = 1, INT, REAL, TEXT, NAME = 21, RID = 23, OBJECT, CALLABLE, DICTIONARY = 27, ARRAY };
enum { RANGE = 1, ENUM, SUGGESTIONS, FILE_NAME = 13, RESOURCE = 17, MULTILINE }; /* PropertyHints */

/* A property, a parameter, a result or a setting. */
typedef struct Property {
    const char* name;
    Kind kind;
    uint32_t hint;         /* a PropertyHint */
    const char* hint_text; /* of an OBJECT: its class */
} Property;

/* A method with at most one parameter, for the main thread alone, or a signal, which has no run(). */
typedef void Run(void* self, int index, const Value* argument, Value* result);
typedef struct Method {
    const char* name;
    Run* run;
    Property result, params[2]; /* without a kind: none */
    bool is_static;
    int index; /* of the property that the method gets or sets */
} Method;

/* A class. A property `x` has the methods get_x(), or is_x() if it is a BOOL, and set_x(). An instance starts
 * with an array of the properties' values, which are empty at first; the rest is zeroed. */
typedef struct Class {
    const char *name, *parent;
    size_t size; /* of an instance; 0: only static methods */
    void (*init)(void* self, GDExtensionObjectPtr object);
    void (*end)(void* self);
    GDExtensionClassNotification2 notified;
    Run* get; /* reads any property; NULL: in any thread */
    Run* set; /* sets any property; NULL: properties are read-only */
    Method methods[8];
    Property properties[12];
    Method getters[12], setters[12]; /* filled by gd_add_class() */
} Class;

/* Loads the interface. Returns false if Godot is older than 4.5. */
bool gd_open(GDExtensionInterfaceGetProcAddress find, GDExtensionClassLibraryPtr library);
/* Returns true in the main thread. In others, logs an error about a call, unless that is NULL. */
bool gd_in_main_thread(const char* call);
void gd_get(void* self, int index, const Value* argument, Value* result); /* a Run */
void gd_add_class(Class* class);
void gd_remove_class(const Class* class);
GDExtensionObjectPtr gd_create(Class* class, void** self);
/* Returns the instance of an object of a class of ours; NULL: there is no object, or it is of another class.
 */
void* gd_instance(const Class* class, const Value* object);

/* Makes a value, to be dropped or passed to gd_call(). */
Value gd_make(Kind kind, const void* content);
#define gd_bool(truth) gd_make(BOOL, &(GDExtensionBool){truth})
#define gd_int(number) gd_make(INT, &(int64_t){number})
#define gd_real(number) gd_make(REAL, &(double){number})
#define gd_object(object) gd_make(OBJECT, &(GDExtensionObjectPtr){object}) /* references a RefCounted */
#define gd_chars(utf8) gd_text(utf8, strlen(utf8))
Value gd_text(const char* utf8, size_t size);
Value gd_copy(const Value* value);
Value gd_callable(GDExtensionCallableCustomCall call, void* userdata);
void gd_drop(Value value);
void gd_replace(Value* old, Value value);

/* Reads a value. All but gd_read() and gd_to_object() also drop it. */
void gd_read(Kind kind, const Value* value, void* content);
GDExtensionObjectPtr gd_to_object(const Value* value);
int64_t gd_to_int(Value value);
int32_t gd_to_int32(Value value); /* clamped */
char* gd_to_chars(Value value);   /* NUL-terminated UTF-8, to be freed; NULL: out of memory */

/* Calls a method and drops the arguments. Returns nil if the call fails. */
Value gd_call(Value self, const char* method, Value* args, int count);
#define GD_ARGS(...) (Value[]){__VA_ARGS__}, (int)(sizeof((Value[]){__VA_ARGS__}) / sizeof(Value))
#define GD_CALL(self, method, ...) gd_call(self, method, GD_ARGS(__VA_ARGS__))
#define GD_GET(self, method) gd_call(self, method, NULL, 0)
#define GD_STATIC(class, method, ...)                                                                        \
    GD_CALL(gd_singleton("ClassDB"), "class_call_static", gd_chars(class), gd_chars(method), __VA_ARGS__)
Value gd_singleton(const char* name); /* need not be dropped */

#endif
