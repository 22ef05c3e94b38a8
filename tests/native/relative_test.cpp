// A library loaded by a relative path finds modules in its own folder after the working directory has
// changed.
#include <cstdio>
#include <filesystem>
#include <string>

#include <dlfcn.h>

#include <sotto/sotto.h>
#include <unistd.h>

#include "support/paths.hpp"

namespace fs = std::filesystem;

namespace {

template <typename Function>
Function* symbol(void* library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
}

int failed(const std::string& what) {
    std::printf("%s\n", what.c_str());
    return 1;
}

// Returns the modules in the engine's description.
std::string described(void* library) {
    sotto_engine* engine = nullptr;
    if (symbol<decltype(sotto_engine_create)>(library, "sotto_engine_create")(nullptr, &engine) < 0) {
        return "no engine";
    }
    sotto_str json{};
    symbol<decltype(sotto_engine_describe)>(library, "sotto_engine_describe")(engine, &json);
    const std::string text(json.data, json.size);
    symbol<decltype(sotto_engine_destroy)>(library, "sotto_engine_destroy")(engine);
    return text;
}

} // namespace

int main() {
    const auto root = fs::temp_directory_path() / ("sotto_relative_test_" + std::to_string(getpid()));
    const fs::path odd = test::paths::kOddModules;
    fs::create_directories(root / "game");
    fs::create_directories(root / "elsewhere");
    fs::copy_file(test::paths::kLibrary, root / "game" / "libsotto.so");
    fs::copy_file(odd / "odd_counts.so", root / "game" / "sotto_counts.so");
    fs::copy_file(odd / "odd_refuses.so", root / "elsewhere" / "sotto_planted.so");
    fs::current_path(root / "game");
    void* library = dlopen("./libsotto.so", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return failed(dlerror());
    }
    fs::current_path(root / "elsewhere");
    const auto text = described(library);
    fs::current_path("/");
    fs::remove_all(root);
    if (text.find("\"name\":\"counts\"") == std::string::npos) {
        return failed("the module beside the library is not in use: " + text);
    }
    if (text.find("planted") != std::string::npos) {
        return failed("a module in the current folder was opened: " + text);
    }
    return 0;
}
