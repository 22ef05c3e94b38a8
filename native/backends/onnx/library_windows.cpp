#include "backends/onnx/library.hpp"

#include <filesystem>

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

namespace sotto::onnx {
namespace {

std::filesystem::path path_of(const std::string& text) {
    return std::filesystem::path(std::u8string(text.begin(), text.end()));
}

std::string text_of(const std::filesystem::path& path) {
    const auto text = path.u8string();
    return {text.begin(), text.end()};
}

} // namespace

void* open_library(const std::string& path, std::string& why) {
    const auto name = path_of(path);
    const DWORD flags = name.is_absolute() ? LOAD_WITH_ALTERED_SEARCH_PATH : 0;
    HMODULE library = LoadLibraryExW(name.c_str(), nullptr, flags);
    if (library == nullptr) {
        why = "error " + std::to_string(GetLastError()) + " of the system";
    }
    return library;
}

void* find_symbol(void* library, const char* name) noexcept {
    return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

// Not a bare name: Windows itself has an old onnxruntime.dll in its system folder.
const std::vector<std::string>& library_names() {
    static const auto& names = *new std::vector<std::string>();
    return names;
}

std::vector<std::string> libraries_in(const std::string& folder) {
    const auto path = path_of(folder) / "onnxruntime.dll";
    std::error_code failed;
    return std::filesystem::exists(path, failed) ? std::vector{text_of(path)} : std::vector<std::string>();
}

std::string module_folder() {
    HMODULE module = nullptr;
    constexpr DWORD kFlags =
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    if (GetModuleHandleExW(kFlags, reinterpret_cast<LPCWSTR>(&module_folder), &module) == 0) {
        return {};
    }
    std::wstring path(32'768, L'\0');
    path.resize(GetModuleFileNameW(module, path.data(), static_cast<DWORD>(path.size())));
    return text_of(std::filesystem::path(path).parent_path());
}

} // namespace sotto::onnx
