#include "backends/onnx/library.hpp"

#include <algorithm>
#include <filesystem>

#include <dlfcn.h>

namespace sotto::onnx {

void* open_library(const std::string& path, std::string& why) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* error = dlerror();
        why = error != nullptr ? error : "dlopen gave no reason";
    }
    return library;
}

void* find_symbol(void* library, const char* name) noexcept {
    return dlsym(library, name);
}

const std::vector<std::string>& library_names() {
    static const auto& names = *new std::vector<std::string>{"libonnxruntime.so", "libonnxruntime.so.1"};
    return names;
}

std::vector<std::string> libraries_in(const std::string& folder) {
    constexpr const char* kStem = "libonnxruntime.so";
    std::vector<std::string> found;
    std::error_code failed;
    for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
         at.increment(failed)) {
        if (at->path().filename().string().starts_with(kStem)) {
            found.push_back(at->path().string());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::string module_folder() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&module_folder), &info) == 0 || info.dli_fname == nullptr) {
        return {};
    }
    return std::filesystem::path(info.dli_fname).parent_path().string();
}

} // namespace sotto::onnx
