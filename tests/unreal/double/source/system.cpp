// Double of Unreal: files, libraries, modules, frames and threads.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include <dlfcn.h>

#include "Async/Async.h"
#include "Containers/Ticker.h"
#include "GenericPlatform/GenericPlatformFile.h"
#include "HAL/PlatformFileManager.h"
#include "HAL/PlatformProcess.h"
#include "Interfaces/IPluginManager.h"
#include "Misc/AutomationTest.h"
#include "Misc/CoreDelegates.h"
#include "Misc/FileHelper.h"
#include "Misc/Paths.h"
#include "Modules/ModuleManager.h"
#include "Stats/Stats.h"
#include "drive.h"

namespace fs = std::filesystem;

static_assert(
    UE_VERSION_OLDER_THAN(5, 8, 0), "the double runs as an older version; newer ones are compiled only"
);
FSimpleMulticastDelegate FCoreDelegates::OnPostEngineInit;
FSimpleMulticastDelegate FCoreDelegates::OnBeginFrame;
FSimpleMulticastDelegate FCoreDelegates::OnEndFrame;
FSimpleMulticastDelegate FCoreDelegates::OnEnginePreExit;

namespace {

const std::thread::id game_thread = std::this_thread::get_id();

fs::path path_of(const FString& text) {
    return fs::path(TCHAR_TO_UTF8(*text));
}

FString text_of(const fs::path& path) {
    return FString(FStringView(
        FUTF8ToTCHAR(path.c_str(), static_cast<int32>(path.native().size())).Get(),
        FUTF8ToTCHAR(path.c_str(), static_cast<int32>(path.native().size())).Length()
    ));
}

class File final : public IFileHandle {
public:
    explicit File(const fs::path& path) : stream_(path, std::ios::binary), size_(fs::file_size(path)) {}
    int64 Size() override { return static_cast<int64>(size_); }
    bool Read(uint8* Destination, int64 BytesToRead) override {
        return static_cast<bool>(stream_.read(reinterpret_cast<char*>(Destination), BytesToRead));
    }

private:
    std::ifstream stream_;
    std::uintmax_t size_;
};

class Files final : public IPlatformFile {
public:
    IFileHandle* OpenRead(const TCHAR* Name, bool) override {
        std::error_code error;
        const fs::path path = path_of(Name);
        return fs::is_regular_file(path, error) ? new File(path) : nullptr;
    }
    bool CreateDirectoryTree(const TCHAR* Directory) override {
        std::error_code error;
        fs::create_directories(path_of(Directory), error);
        return fs::is_directory(path_of(Directory), error);
    }
};

struct Tasks {
    std::mutex mutex;
    std::vector<TUniqueFunction<void()>> queued;
};

Tasks& tasks() {
    static Tasks& all = *new Tasks;
    return all;
}

TMap<FName, IModuleInterface* (*)()>& makers() {
    static auto& all = *new TMap<FName, IModuleInterface* (*)()>;
    return all;
}

TMap<FString, double>& stats() {
    static auto& all = *new TMap<FString, double>;
    return all;
}

} // namespace

bool IsInGameThread() {
    return std::this_thread::get_id() == game_thread;
}

FString FPaths::ProjectContentDir() {
    return text_of(double_folders().project / "Content");
}
FString FPaths::ProjectSavedDir() {
    return text_of(double_folders().project / "Saved");
}
bool FPaths::FileExists(const FString& Path) {
    std::error_code error;
    return fs::is_regular_file(path_of(Path), error);
}
bool FPaths::IsRelative(const FString& Path) {
    return path_of(Path).is_relative();
}
FString FPaths::ConvertRelativePathToFull(const FString& Path) {
    return text_of(fs::absolute(path_of(Path)).lexically_normal());
}
FString FPaths::GetPath(const FString& Path) {
    return text_of(path_of(Path).parent_path());
}
FString FPaths::DoubleJoin(const FString& Left, const FString& Right) {
    return text_of(path_of(Left) / path_of(Right));
}

bool FFileHelper::LoadFileToString(FString& Result, const TCHAR* Filename, EHashOptions, uint32) {
    std::error_code error;
    if (!fs::is_regular_file(path_of(Filename), error)) {
        return false;
    }
    std::ifstream file(path_of(Filename), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    Result = text_of(text);
    return true;
}

void* FPlatformProcess::GetDllHandle(const TCHAR* File) {
    return dlopen(TCHAR_TO_UTF8(File), RTLD_NOW | RTLD_LOCAL);
}
void FPlatformProcess::FreeDllHandle(void* Handle) {
    dlclose(Handle);
}
void* FPlatformProcess::GetDllExport(void* Handle, const TCHAR* Name) {
    return dlsym(Handle, TCHAR_TO_UTF8(Name));
}

FPlatformFileManager& FPlatformFileManager::Get() {
    static FPlatformFileManager Manager;
    return Manager;
}
IPlatformFile& FPlatformFileManager::GetPlatformFile() {
    static Files All;
    return All;
}

IPluginManager& IPluginManager::Get() {
    static IPluginManager Manager;
    return Manager;
}
TSharedPtr<IPlugin> IPluginManager::FindPlugin(const TCHAR* Name) {
    const fs::path folder = double_folders().plugins / TCHAR_TO_UTF8(Name);
    return fs::exists(folder) ? TSharedPtr<IPlugin>(new IPlugin(text_of(folder))) : TSharedPtr<IPlugin>();
}

FModuleManager& FModuleManager::Get() {
    static FModuleManager& Manager = *new FModuleManager;
    return Manager;
}
FModuleManager::FDoubleRegistrar::FDoubleRegistrar(const TCHAR* Name, IModuleInterface* (*Make)()) {
    makers().Add(FName(Name), Make);
}
IModuleInterface* FModuleManager::LoadModule(FName Name) {
    if (IModuleInterface** Found = Loaded.Find(Name)) {
        return *Found;
    }
    IModuleInterface* Made = (*makers().Find(Name))();
    Loaded.Add(Name, Made);
    Made->StartupModule();
    return Made;
}
bool FModuleManager::UnloadModule(FName Name, bool) {
    IModuleInterface* Module = nullptr;
    if (!Loaded.RemoveAndCopyValue(Name, Module)) {
        return false;
    }
    Module->ShutdownModule();
    delete Module;
    return true;
}
IModuleInterface* FModuleManager::GetModule(FName Name) {
    IModuleInterface** Found = Loaded.Find(Name);
    return Found == nullptr ? nullptr : *Found;
}

FTSTicker& FTSTicker::GetCoreTicker() {
    static FTSTicker& Ticker = *new FTSTicker;
    return Ticker;
}
FTSTicker::FDelegateHandle FTSTicker::AddTicker(const FTickerDelegate& Delegate, float) {
    const FDelegateHandle Handle = FDelegateHandle::DoubleMake();
    Entries.Add(FEntry{Handle, Delegate});
    return Handle;
}
void FTSTicker::RemoveTicker(FDelegateHandle Handle) {
    GetCoreTicker().Entries.RemoveAll([Handle](const FEntry& Entry) { return Entry.Handle == Handle; });
}
void FTSTicker::Tick(float DeltaSeconds) {
    const TArray<FEntry> Kept = Entries;
    for (const FEntry& Entry : Kept) {
        const bool bListed = [&] {
            for (const FEntry& Other : Entries) {
                if (Other.Handle == Entry.Handle) {
                    return true;
                }
            }
            return false;
        }();
        if (bListed && (!Entry.Delegate.IsBound() || !Entry.Delegate.Execute(DeltaSeconds))) {
            RemoveTicker(Entry.Handle);
        }
    }
}

void AsyncTask(ENamedThreads::Type, TUniqueFunction<void()> Function) {
    const std::lock_guard<std::mutex> Lock(tasks().mutex);
    tasks().queued.push_back(std::move(Function));
}
void DoubleRunGameThreadTasks() {
    std::vector<TUniqueFunction<void()>> Taken;
    {
        const std::lock_guard<std::mutex> Lock(tasks().mutex);
        Taken.swap(tasks().queued);
    }
    for (const TUniqueFunction<void()>& Function : Taken) {
        Function();
    }
}

void DoubleSetStat(const TCHAR* Name, double Value) {
    stats().Add(Name, Value);
}
double DoubleGetStat(const TCHAR* Name) {
    const double* Found = stats().Find(Name);
    return Found == nullptr ? -1.0 : *Found;
}
double DoubleSeconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

FAutomationTestBase::FAutomationTestBase(const TCHAR* InName) : Name(InName) {
    DoubleAll().Add(this);
}
TArray<FAutomationTestBase*>& FAutomationTestBase::DoubleAll() {
    static auto& All = *new TArray<FAutomationTestBase*>;
    return All;
}
bool FAutomationTestBase::DoubleExpect(const FString& What, bool bHolds) {
    if (!bHolds) {
        Errors.Add(What);
    }
    return bHolds;
}
