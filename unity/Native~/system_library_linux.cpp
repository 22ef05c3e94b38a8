// Linux and Android.
#include "system_library.hpp"

#include <cstdio>
#include <cstring>

#include <dlfcn.h>

namespace sotto::unity {
namespace {

constexpr const char* kName = "libsotto.so";

void* open_beside_plugin() {
    Dl_info info{};
    char path[4096];
    if (dladdr(reinterpret_cast<void*>(&keep_plugin_loaded), &info) == 0 || info.dli_fname == nullptr) {
        return nullptr;
    }
    const char* slash = std::strrchr(info.dli_fname, '/');
    if (slash == nullptr) {
        return nullptr;
    }
    const int folder = static_cast<int>(slash - info.dli_fname);
    const int written = std::snprintf(path, sizeof(path), "%.*s/%s", folder, info.dli_fname, kName);
    const bool fits = written > 0 && static_cast<std::size_t>(written) < sizeof(path);
    return fits ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
}

} // namespace

void* open_sotto(Text& reason) {
    void* library = dlopen(kName, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    library = library != nullptr ? library : open_beside_plugin();
    library = library != nullptr ? library : dlopen(kName, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* why = dlerror();
        reason.format(
            "missing Sotto library '%s': expected it beside sotto_unity; copy both from the same package "
            "(%s)",
            kName,
            why != nullptr ? why : "the system gave no reason"
        );
    }
    return library;
}

void* find_function(void* library, const char* name) {
    return dlsym(library, name);
}

// It is linked with -z nodelete.
void keep_plugin_loaded() {}

} // namespace sotto::unity
