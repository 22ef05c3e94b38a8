#include "CoreMinimal.h"
#include "Misc/CoreDelegates.h"
#include "Misc/EngineVersionComparison.h"
#include "Modules/ModuleManager.h"
#include "SottoLibrary.h"
#include "SottoLog.h"

DEFINE_LOG_CATEGORY(LogSotto);

/** The delegate that is called when the engine is up. Unreal 5.8 deprecates the variable. */
static FSimpleMulticastDelegate& SottoOnPostEngineInit()
{
#if UE_VERSION_OLDER_THAN(5, 8, 0)
    return FCoreDelegates::OnPostEngineInit;
#else
    return FCoreDelegates::GetOnPostEngineInit();
#endif
}

/** Loads the library when the module starts, and frees it when the module ends. */
class FSottoRuntimeModule : public IModuleInterface
{
public:
    virtual void StartupModule() override
    {
        FSottoLibrary& Library = FSottoLibrary::Get();
        Library.Load();
        EngineStarted = SottoOnPostEngineInit().AddRaw(&Library, &FSottoLibrary::SetEngineReady);
    }

    virtual void ShutdownModule() override
    {
        SottoOnPostEngineInit().Remove(EngineStarted);
        FSottoLibrary::Get().Unload();
    }

private:
    FDelegateHandle EngineStarted;
};

IMPLEMENT_MODULE(FSottoRuntimeModule, SottoRuntime)
