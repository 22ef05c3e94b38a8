#pragma once

#include "Async/Future.h"
#include "CoreMinimal.h"
#include "Delegates/Delegate.h"

class FSottoEngineHost;

namespace SottoCore
{
struct FApi;
}

/**
 * The native library: loaded when the module starts, freed when it ends.
 *
 * A library that is missing, of another version or of another architecture leaves the plugin inert: nothing
 * asserts, and InertReason() says why. Game thread only.
 */
class SOTTORUNTIME_API FSottoLibrary
{
public:
    // Deleted, not implicit: a compiler that exports the class (MSVC) instantiates every implicit member.
    FSottoLibrary() = default;
    FSottoLibrary(const FSottoLibrary&) = delete;
    FSottoLibrary& operator=(const FSottoLibrary&) = delete;

    static FSottoLibrary& Get();

    /** Loads the library from the plugin's folder. Returns false, and logs the reason, on failure. */
    bool Load();

    /** Loads the library from a file. Returns false, and logs the reason, on failure. */
    bool LoadFrom(const FString& File);

    /** Stops all engines and frees the library. A second call has no effect. */
    void Unload();

    bool IsLoaded() const;

    /** Returns why the library is not loaded. Empty: it is loaded. */
    const FString& InertReason() const { return Reason; }

    /** Returns the folder of the library, its modules and the house model. */
    const FString& Folder() const { return LoadedFolder; }

    /** Returns the path at which the plugin ships the library for this platform. */
    static FString DefaultFile();

    const SottoCore::FApi& Functions() const;

    /** Executed before the library is freed: whoever holds one of its handles closes it. */
    FSimpleMulticastDelegate& OnUnload() { return Unloading; }

    /** Registers an engine, which Unload() stops. */
    void Add(FSottoEngineHost& Host);
    void Remove(FSottoEngineHost& Host);

    /** Notes that the engine and its renderer are up, so that engines can share the graphics card. */
    void SetEngineReady();
    bool IsEngineReady() const { return bEngineReady; }

    /** Keeps a background call that uses the library's functions; Unload() waits for it. */
    void Keep(TFuture<void>&& Call);

private:
    bool Refuse(const FString& Why);

    void* Handle = nullptr;
    bool bEngineReady = false;
    FSimpleMulticastDelegate Unloading;
    FString Reason = TEXT("the module SottoRuntime has not started");
    FString LoadedFolder;
    TArray<FSottoEngineHost*> Hosts;
    TArray<TFuture<void>> Calls;
};
