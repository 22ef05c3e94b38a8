#include "platform/dynlib.hpp"

#include <cerrno>
#include <memory>

#include <dirent.h>
#include <dlfcn.h>

#include "platform/process.hpp"

namespace sotto {
namespace {

// Returns the file that contains this code. For code linked into a program, dladdr() reports the program's
// name, which need not be a path: then reads /proc.
std::filesystem::path path_of_this() {
    Dl_info info{};
    std::filesystem::path path;
    if (dladdr(reinterpret_cast<void*>(&library_folder), &info) != 0 && info.dli_fname != nullptr) {
        path = info.dli_fname;
    }
    std::error_code failed;
    return path.has_parent_path() ? path : std::filesystem::read_symlink("/proc/self/exe", failed);
}

std::filesystem::path folder_of_this() {
    std::error_code failed;
    const auto path = std::filesystem::absolute(path_of_this(), failed);
    return failed ? std::filesystem::path() : path.parent_path();
}

// Calls library_folder() while the library is being loaded: the library's path may be relative to a working
// directory that changes later.
[[maybe_unused]] const bool g_found = (library_folder(), true);

} // namespace

// Never closes the library, and does not use RTLD_NODELETE for that: if memory runs out late in dlopen(),
// glibc 2.35 and later keep a library opened with that flag without having run its constructors, and the next
// dlopen() returns it.
void* open_library(const std::filesystem::path& path, std::string& reason, std::error_code& failed) {
    const NoFork whole; // a forked child would find the library loaded, but its constructors not run
    errno = 0;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        failed = {errno, std::generic_category()};
        const char* error = dlerror();
        reason = error != nullptr ? error : "dlopen gave no reason";
    }
    return library;
}

void* open_library(const std::filesystem::path& path, std::string& reason) {
    std::error_code failed;
    return open_library(path, reason, failed);
}

void* find_symbol(void* library, const char* name) noexcept {
    return dlsym(library, name);
}

const std::filesystem::path& library_folder() {
    // never destroyed, for threads that outlive static destruction
    static const auto& folder = *new std::filesystem::path(folder_of_this());
    return folder;
}

// Does nothing: the library is linked with -z nodelete.
bool keep_loaded() noexcept {
    return true;
}

// Uses opendir(), because libstdc++'s directory_iterator terminates the process when it gets no memory.
std::vector<std::filesystem::path>
libraries_in(const std::filesystem::path& folder, std::error_code& failed) {
    constexpr auto kClose = [](DIR* open) { closedir(open); };
    const std::unique_ptr<DIR, decltype(kClose)> open(opendir(folder.c_str()));
    if (open == nullptr && errno != ENOENT && errno != ENOTDIR) {
        failed = {errno, std::generic_category()};
    }
    std::vector<std::filesystem::path> found;
    while (const dirent* entry = open != nullptr ? readdir(open.get()) : nullptr) {
        const std::filesystem::path name(entry->d_name);
        if (name.extension() == library_suffix()) {
            found.push_back(folder / name);
        }
    }
    return found;
}

const char* library_suffix() noexcept {
    return ".so";
}

} // namespace sotto
