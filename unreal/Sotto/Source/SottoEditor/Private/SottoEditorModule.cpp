#include "CoreMinimal.h"
#include "GameDelegates.h"
#include "Modules/ModuleManager.h"
#include "PropertyEditorModule.h"
#include "SottoBuildCheck.h"
#include "SottoCharacterDetails.h"

DEFINE_LOG_CATEGORY_STATIC(LogSottoEditor, Log, All);

/** Registers the chat box, and checks the project when it is cooked. */
class FSottoEditorModule : public IModuleInterface
{
public:
    virtual void StartupModule() override
    {
        FModuleManager::LoadModuleChecked<FPropertyEditorModule>("PropertyEditor")
            .RegisterCustomClassLayout(
                "SottoCharacterComponent",
                FOnGetDetailCustomizationInstance::CreateStatic(&FSottoCharacterDetails::MakeInstance)
            );
        CookBegan =
            FGameDelegates::Get().GetModifyCookDelegate().AddRaw(this, &FSottoEditorModule::CheckProject);
    }

    virtual void ShutdownModule() override
    {
        FGameDelegates::Get().GetModifyCookDelegate().Remove(CookBegan);
        if (FPropertyEditorModule* Editor =
                FModuleManager::GetModulePtr<FPropertyEditorModule>("PropertyEditor"))
        {
            Editor->UnregisterCustomClassLayout("SottoCharacterComponent");
        }
    }

private:
    /** Logs each problem as an error, which fails the cook. */
    void CheckProject(TConstArrayView<const ITargetPlatform*>, TArray<FName>&, TArray<FName>&)
    {
        for (const FString& Problem : FSottoBuildCheck::FindProblems())
        {
            UE_LOG(LogSottoEditor, Error, TEXT("%s"), *Problem);
        }
    }

    FDelegateHandle CookBegan;
};

IMPLEMENT_MODULE(FSottoEditorModule, SottoEditor)
