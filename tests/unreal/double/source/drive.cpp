// Double of Unreal: the main loop.
#include "drive.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "Async/Async.h"
#include "Containers/Ticker.h"
#include "Engine/World.h"
#include "Misc/CoreDelegates.h"
#include "Modules/ModuleManager.h"
#include "Stats/Stats.h"
#include "UObject/UObjectGlobals.h"

DoubleFolders& double_folders() {
    static DoubleFolders& folders = *new DoubleFolders;
    return folders;
}

void double_load_modules(const std::filesystem::path& uplugin, const std::string& phase) {
    std::ifstream file(uplugin);
    std::stringstream text;
    text << file.rdbuf();
    const std::string all = text.str();
    const std::string key = "\"Name\": \"";
    for (std::size_t at = all.find(key); at != std::string::npos; at = all.find(key, at + 1)) {
        const std::string entry = all.substr(at, all.find('}', at) - at);
        if (entry.find("\"LoadingPhase\": \"" + phase + "\"") != std::string::npos) {
            const std::string name = entry.substr(key.size(), entry.find('"', key.size()) - key.size());
            FModuleManager::Get().LoadModule(FName(FString(name.c_str())));
        }
    }
}

void double_frame() {
    const auto begun = std::chrono::steady_clock::now();
    DoubleRunGameThreadTasks();
    FCoreDelegates::OnBeginFrame.Broadcast();
    FTSTicker::GetCoreTicker().Tick(0.002f);
    FCoreDelegates::OnEndFrame.Broadcast();
    std::this_thread::sleep_until(begun + std::chrono::milliseconds(2));
}

bool double_run_until(const std::function<bool()>& done, double seconds) {
    const double end = DoubleSeconds() + seconds;
    while (!done()) {
        if (DoubleSeconds() > end) {
            return false;
        }
        double_frame();
    }
    return true;
}

DoublePlay::DoublePlay() : game_(NewObject<UGameInstance>()) {
    game_->AddToRoot();
    game_->Init();
}

double DoublePlay::stop() {
    if (game_ == nullptr) {
        return 0;
    }
    const double begun = DoubleSeconds();
    game_->GetWorld()->DoubleEndPlay(EEndPlayReason::EndPlayInEditor);
    game_->Shutdown();
    const double took = (DoubleSeconds() - begun) * 1000;
    game_->RemoveFromRoot();
    game_ = nullptr;
    CollectGarbage(RF_NoFlags);
    return took;
}
