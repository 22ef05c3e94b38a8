#include "platform/dynlib.hpp"

#include <system_error>

#include "base/path.hpp"
#include "platform/windows.hpp"

namespace sotto {
namespace {

// Returns the system's message for an error, on one line.
std::string words_for(DWORD error) {
    wchar_t words[512] = {};
    constexpr DWORD kHow =
        FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK;
    const DWORD size = FormatMessageW(kHow, nullptr, error, 0, words, DWORD(std::size(words)), nullptr);
    auto text = utf8_of(std::filesystem::path(words, words + size));
    while (!text.empty() && text.back() == ' ') {
        text.pop_back();
    }
    return (text.empty() ? "Windows refuses" : text) + " (error " + std::to_string(error) + ")";
}

// Windows always reports the full path of a loaded library.
std::filesystem::path folder_of_this() {
    constexpr DWORD kHow =
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    HMODULE library = nullptr;
    if (!GetModuleHandleExW(kHow, reinterpret_cast<LPCWSTR>(&library_folder), &library)) {
        return {};
    }
    constexpr std::size_t kLongest = 32'768; // maximum length of a Windows path
    std::wstring name(kLongest, L'\0');
    name.resize(GetModuleFileNameW(library, name.data(), DWORD(name.size())));
    return std::filesystem::path(name).parent_path();
}

// Suppresses the dialog box that Windows shows when a library lacks a dependency.
class NoDialogs {
public:
    NoDialogs() noexcept { SetThreadErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX, &before_); }
    ~NoDialogs() { SetThreadErrorMode(before_, nullptr); }
    NoDialogs(const NoDialogs&) = delete;
    NoDialogs& operator=(const NoDialogs&) = delete;

private:
    DWORD before_ = 0;
};

} // namespace

// A bare name is looked up among the system's libraries only. Dependencies are looked up in the library's
// folder and the system's folders, never in the working directory.
void* open_library(const std::filesystem::path& path, std::string& why, std::error_code& failed) {
    const NoDialogs quiet;
    HMODULE library = nullptr;
    if (path.has_parent_path()) {
        std::error_code ignored;
        const auto whole = std::filesystem::absolute(path, ignored).make_preferred();
        constexpr DWORD kWhere = LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS;
        library = LoadLibraryExW(whole.c_str(), nullptr, kWhere);
    } else {
        library = LoadLibraryExW(path.c_str(), nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32);
    }
    if (library == nullptr) {
        failed = {static_cast<int>(GetLastError()), std::system_category()};
        why = utf8_of(path) + ": " + words_for(static_cast<DWORD>(failed.value()));
    }
    return library;
}

void* open_library(const std::filesystem::path& path, std::string& why) {
    std::error_code failed;
    return open_library(path, why, failed);
}

void* find_symbol(void* library, const char* name) noexcept {
    return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

const std::filesystem::path& library_folder() {
    // never destroyed, for threads that outlive static destruction
    static const auto& folder = *new std::filesystem::path(folder_of_this());
    return folder;
}

bool keep_loaded() noexcept {
    constexpr DWORD kHow = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
    HMODULE library = nullptr;
    return GetModuleHandleExW(kHow, reinterpret_cast<LPCWSTR>(&keep_loaded), &library) != 0;
}

std::vector<std::filesystem::path>
libraries_in(const std::filesystem::path& folder, std::error_code& failed) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
        if (entry.path().extension() == library_suffix()) {
            found.push_back(entry.path());
        }
    }
    if (failed == std::errc::no_such_file_or_directory || failed == std::errc::not_a_directory) {
        failed.clear();
    }
    return found;
}

const char* library_suffix() noexcept {
    return ".dll";
}

} // namespace sotto
