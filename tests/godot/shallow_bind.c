/* Removes RTLD_DEEPBIND from dlopen(), which Godot passes and the address sanitizer refuses. To be preloaded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

void* dlopen(const char* path, int flags) {
    void* (*real)(const char*, int) = (void* (*)(const char*, int))dlsym(RTLD_NEXT, "dlopen");
    return real(path, flags & ~RTLD_DEEPBIND);
}
