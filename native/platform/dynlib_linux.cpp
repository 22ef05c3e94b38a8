#include "platform/dynlib.hpp"

#include <memory>

#include <dirent.h>
#include <dlfcn.h>

namespace sotto {

void* open_library(const std::filesystem::path& path, std::string& why) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
        const char* error = dlerror();
        why = error != nullptr ? error : "dlopen gave no reason";
    }
    return library;
}

void* find_symbol(void* library, const char* name) noexcept {
    return dlsym(library, name);
}

std::filesystem::path library_folder() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&library_folder), &info) == 0 || info.dli_fname == nullptr) {
        return {};
    }
    std::error_code ignored;
    const auto whole = std::filesystem::absolute(info.dli_fname, ignored);
    return whole.parent_path();
}

// By hand, as libstdc++ ends the process where a directory_iterator gets no memory.
std::vector<std::filesystem::path> libraries_in(const std::filesystem::path& folder) {
    constexpr auto kClose = [](DIR* open) { closedir(open); };
    const std::unique_ptr<DIR, decltype(kClose)> open(opendir(folder.c_str()));
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
