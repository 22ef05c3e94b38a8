#include "SottoLibrary.h"

#include "Core/Api.h"
#include "Core/Binary.h"
#include "GenericPlatform/GenericPlatformFile.h"
#include "HAL/PlatformFileManager.h"
#include "HAL/PlatformProcess.h"
#include "Interfaces/IPluginManager.h"
#include "Misc/Paths.h"
#include "SottoConvert.h"
#include "SottoEngineHost.h"
#include "SottoLog.h"

#if PLATFORM_WINDOWS
#  define SOTTO_LIBRARY_FILE TEXT("Win64/sotto.dll")
#elif PLATFORM_ANDROID
#  define SOTTO_LIBRARY_FILE TEXT("libsotto.so")
#else
#  define SOTTO_LIBRARY_FILE TEXT("Linux/libsotto.so")
#endif

static SottoCore::FApi GSottoFunctions;

static void* SottoFindFunction(void* Handle, const char* Name)
{
    return FPlatformProcess::GetDllExport(Handle, *SottoToString(Name));
}

/** Says what a file that the system refused is, to tell a wrong architecture from a missing dependency. */
static FString SottoDescribeFile(const FString& File)
{
    uint8 Head[1024] = {};
    const TUniquePtr<IFileHandle> Opened(FPlatformFileManager::Get().GetPlatformFile().OpenRead(*File));
    const int64 Size = Opened ? FMath::Min<int64>(Opened->Size(), sizeof(Head)) : 0;
    if (Size == 0 || !Opened->Read(Head, Size))
    {
        return TEXT("an empty or unreadable file");
    }
    const std::string Kind =
        SottoCore::DescribeBinary({reinterpret_cast<const char*>(Head), static_cast<size_t>(Size)});
    return Kind.empty() ? FString(TEXT("no library"))
                        : FString::Printf(TEXT("a library for %s"), *SottoToString(Kind));
}

FSottoLibrary& FSottoLibrary::Get()
{
    static FSottoLibrary Library;
    return Library;
}

FString FSottoLibrary::DefaultFile()
{
#if PLATFORM_ANDROID
    return SOTTO_LIBRARY_FILE; // the package's own library folder
#else
    const TSharedPtr<IPlugin> Plugin = IPluginManager::Get().FindPlugin(TEXT("Sotto"));
    const FString Base = Plugin.IsValid() ? Plugin->GetBaseDir() : FString();
    return FPaths::ConvertRelativePathToFull(
        FPaths::Combine(Base, TEXT("Source/SottoSDK/lib"), SOTTO_LIBRARY_FILE)
    );
#endif
}

bool FSottoLibrary::Refuse(const FString& Why)
{
    Reason = Why;
    UE_LOG(LogSotto, Error, TEXT("Sotto is off: %s"), *Reason);
    return false;
}

bool FSottoLibrary::Load()
{
    return LoadFrom(DefaultFile());
}

bool FSottoLibrary::LoadFrom(const FString& File)
{
    if (Handle != nullptr)
    {
        return true;
    }
#if !PLATFORM_ANDROID
    if (!FPaths::FileExists(File))
    {
        return Refuse(
            FString::Printf(
                TEXT("the library '%s' is missing; install the plugin's package with its libraries"), *File
            )
        );
    }
#endif
    void* Opened = FPlatformProcess::GetDllHandle(*File);
    if (Opened == nullptr)
    {
        return Refuse(
            FString::Printf(
                TEXT(
                    "the system refused the library '%s', which is %s; install the package for this platform"
                ),
                *File,
                *SottoDescribeFile(File)
            )
        );
    }
    std::string Why;
    if (!GSottoFunctions.Load(&SottoFindFunction, Opened, Why))
    {
        FPlatformProcess::FreeDllHandle(Opened);
        return Refuse(SottoToString(Why));
    }
    Handle = Opened;
    Reason.Empty();
    LoadedFolder = FPaths::GetPath(File);
    UE_LOG(
        LogSotto,
        Log,
        TEXT("Sotto %s from %s"),
        *SottoToString(SottoCore::View(GSottoFunctions.sotto_version())),
        *File
    );
    return true;
}

void FSottoLibrary::Unload()
{
    const FString Why = TEXT("the module SottoRuntime was shut down");
    const TArray<FSottoEngineHost*> Stopped = Hosts;
    for (FSottoEngineHost* Host : Stopped)
    {
        Host->Stop(Why, true);
    }
    for (TFuture<void>& Call : Calls)
    {
        Call.Wait();
    }
    Calls.Empty();
    Unloading.Broadcast();
    GSottoFunctions.Unload();
    if (Handle != nullptr)
    {
        FPlatformProcess::FreeDllHandle(Handle);
        Handle = nullptr;
        Reason = Why;
    }
}

bool FSottoLibrary::IsLoaded() const
{
    return Handle != nullptr;
}

const SottoCore::FApi& FSottoLibrary::Functions() const
{
    return GSottoFunctions;
}

void FSottoLibrary::Add(FSottoEngineHost& Host)
{
    Hosts.AddUnique(&Host);
}

void FSottoLibrary::Remove(FSottoEngineHost& Host)
{
    Hosts.Remove(&Host);
}

void FSottoLibrary::SetEngineReady()
{
    bEngineReady = true;
    const TArray<FSottoEngineHost*> Waiting = Hosts;
    for (FSottoEngineHost* Host : Waiting)
    {
        Host->HandleEngineReady();
    }
}

void FSottoLibrary::Keep(TFuture<void>&& Call)
{
    Calls.RemoveAll([](const TFuture<void>& Kept) { return Kept.IsReady(); });
    Calls.Add(MoveTemp(Call));
}
