#include "shim.hpp"

#if defined(_WIN32)
#  define WIN32_LEAN_AND_MEAN
#  include <windows.h>
#else
#  include <dlfcn.h>
#endif

namespace test {
namespace {

#if defined(_WIN32)
void* open_plugin() {
    return LoadLibraryA(SOTTO_SHIM);
}
void* find(void* library, const char* name) {
    return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}
#else
void* open_plugin() {
    return dlopen(SOTTO_SHIM, RTLD_NOW | RTLD_LOCAL);
}
void* find(void* library, const char* name) {
    return dlsym(library, name);
}
#endif

template <typename Function>
void take(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(find(library, name));
    REQUIRE_MESSAGE((function != nullptr), name);
}

} // namespace

std::string text_of(sotto_str text) {
    return text.size == 0 ? std::string() : std::string(text.data, text.size);
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

const Shim& Shim::it() {
    static const Shim shim = [] {
        Shim made;
        void* library = open_plugin();
        REQUIRE_MESSAGE((library != nullptr), SOTTO_SHIM);
        take(library, "UnityPluginLoad", made.load);
        take(library, "UnityPluginUnload", made.unload);
        take(library, "sotto_unity_abi", made.abi);
        take(library, "sotto_unity_graphics", made.graphics);
        take(library, "sotto_unity_attach", made.attach);
        take(library, "sotto_unity_detach", made.detach);
        take(library, "sotto_unity_last_error", made.last_error);
        return made;
    }();
    return shim;
}

sotto_unity_graphics_info Shim::describe() const {
    auto info = SOTTO_INIT(sotto_unity_graphics_info);
    REQUIRE(graphics(&info) == SOTTO_OK);
    return info;
}

} // namespace test
