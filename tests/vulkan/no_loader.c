/* Preloaded: a machine without a Vulkan loader. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

__attribute__((visibility("default"))) void* dlopen(const char* path, int flags) {
    static void* (*real)(const char*, int);
    if (real == NULL) {
        *(void**)&real = dlsym(RTLD_NEXT, "dlopen");
    }
    const int vulkan = path != NULL && strstr(path, "libvulkan") != NULL;
    return real(vulkan ? "libvulkan.so.1: this machine has none" : path, flags);
}
