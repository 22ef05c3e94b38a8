#include "CoreMinimal.h"
#include "Misc/CoreDelegates.h"
#include "Modules/ModuleManager.h"
#include "SottoLibrary.h"
#include "SottoLog.h"

DEFINE_LOG_CATEGORY(LogSotto);

/** Loads the library when the module starts, and frees it when the module ends. */
class FSottoRuntimeModule : public IModuleInterface
{
public:
    virtual void StartupModule() override
    {
        FSottoLibrary& Library = FSottoLibrary::Get();
        Library.Load();
        EngineStarted = FCoreDelegates::OnPostEngineInit.AddRaw(&Library, &FSottoLibrary::SetEngineReady);
    }

    virtual void ShutdownModule() override
    {
        FCoreDelegates::OnPostEngineInit.Remove(EngineStarted);
        FSottoLibrary::Get().Unload();
    }

private:
    FDelegateHandle EngineStarted;
};

IMPLEMENT_MODULE(FSottoRuntimeModule, SottoRuntime)
