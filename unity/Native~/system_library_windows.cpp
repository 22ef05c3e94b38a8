#include "system_library.hpp"

#include <cwchar>

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

namespace sotto::unity {
namespace {

constexpr const wchar_t* kName = L"sotto.dll";
constexpr DWORD kPin = GET_MODULE_HANDLE_EX_FLAG_PIN;
constexpr DWORD kPinThis = kPin | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;

HMODULE this_plugin() {
    HMODULE plugin = nullptr;
    const auto* const address = reinterpret_cast<LPCWSTR>(&keep_plugin_loaded);
    return GetModuleHandleExW(kPinThis, address, &plugin) ? plugin : nullptr;
}

HMODULE open_beside_plugin() {
    static wchar_t path[32'768]; // the longest path; find() of SottoLibrary holds a lock
    const DWORD length = GetModuleFileNameW(this_plugin(), path, DWORD(std::size(path)));
    wchar_t* slash = length > 0 && length < std::size(path) ? std::wcsrchr(path, L'\\') : nullptr;
    if (slash == nullptr || std::size_t(slash - path) + 1 + std::wcslen(kName) >= std::size(path)) {
        return nullptr;
    }
    std::wcscpy(slash + 1, kName);
    return LoadLibraryExW(path, nullptr, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
}

} // namespace

void* open_sotto(Text& reason) {
    HMODULE library = nullptr;
    if (!GetModuleHandleExW(kPin, kName, &library)) {
        library = open_beside_plugin();
    }
    if (library == nullptr) {
        library = LoadLibraryExW(kName, nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    }
    if (library == nullptr) {
        reason.format(
            "missing Sotto library 'sotto.dll': expected it beside sotto_unity.dll; copy both from the same "
            "package (Windows error %lu)",
            GetLastError()
        );
    }
    return library;
}

void* find_function(void* library, const char* name) {
    return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

void keep_plugin_loaded() {
    this_plugin();
}

} // namespace sotto::unity
