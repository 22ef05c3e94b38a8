// Starts the double of the engine with the plugin, as the engine would, and runs the tests.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "Misc/ConfigCacheIni.h"
#include "Misc/CoreDelegates.h"
#include "Modules/ModuleManager.h"
#define DOCTEST_CONFIG_IMPLEMENT
#include "fixture.hpp"

namespace fs = std::filesystem;

void double_register_classes();

namespace {

/** Lays out the plugin's package: the library, its modules and the house model, where Build.cs ships them. */
void install(const fs::path& work, const fs::path& library) {
    const fs::path folder = work / "Plugins" / "Sotto" / "Source" / "SottoSDK" / "lib" / "Linux";
    fs::remove_all(work);
    fs::create_directories(folder);
    fs::create_directories(work / "Content");
    for (const fs::directory_entry& entry : fs::directory_iterator(library)) {
        const fs::path& path = entry.path();
        const bool shipped = path.extension() == ".so" || path.extension() == ".gguf";
        if (shipped && path.filename().string().find("vulkan") == std::string::npos) {
            fs::create_symlink(path, folder / path.filename());
        }
    }
    // The scripted backend, a test double of models, beside a library of its own: see fixture::Scripted.
    fs::create_directories(work / "Scripted");
    fs::create_symlink(library / "libsotto.so", work / "Scripted" / "libsotto.so");
    for (const fs::directory_entry& entry : fs::directory_iterator(library / "scripted")) {
        fs::create_symlink(entry.path(), work / "Scripted" / entry.path().filename());
    }
}

} // namespace

int main(int argc, char** argv) {
    const char* work = std::getenv("SOTTO_UNREAL_WORK");
    const char* plugin = std::getenv("SOTTO_UNREAL_PLUGIN");
    if (fixture::library().empty() || work == nullptr || plugin == nullptr) {
        std::fprintf(stderr, "set SOTTO_TEST_LIBRARY, SOTTO_UNREAL_WORK and SOTTO_UNREAL_PLUGIN\n");
        return 2;
    }
    const bool vulkan = std::getenv("SOTTO_UNREAL_RHI") != nullptr;
    double_folders() = {work, fs::path(work) / "Plugins"};
    install(work, fixture::library());
    double_register_classes();
    GConfig->DoubleSet(
        TEXT("/Script/SottoRuntime.SottoSettings"), TEXT("bShareGpu"), {vulkan ? TEXT("True") : TEXT("False")}
    );
    const fs::path uplugin = fs::path(plugin) / "Sotto.uplugin";
    double_load_modules(uplugin, "PostConfigInit");
    if (!vulkan) {
        DoubleRhi::start_null();
    } else if (!DoubleRhi::start_vulkan()) {
        std::fprintf(stderr, "no Vulkan device\n");
        return 3;
    }
    double_load_modules(uplugin, "PreDefault");
    FCoreDelegates::OnPostEngineInit.Broadcast();
    double_load_modules(uplugin, "PostEngineInit");
    const int failed = doctest::Context(argc, argv).run();
    FModuleManager::Get().UnloadModule(TEXT("SottoEditor"));
    FModuleManager::Get().UnloadModule(TEXT("SottoRuntime"));
    FModuleManager::Get().UnloadModule(TEXT("SottoPreInit"));
    CollectGarbage(RF_NoFlags);
    DoubleRhi::stop();
    return failed;
}
