// Double of Unreal: configuration, and what of the editor the plugin registers with.
#include "CoreGlobals.h"
#include "GameDelegates.h"
#include "Misc/ConfigCacheIni.h"
#include "Modules/ModuleManager.h"
#include "PropertyEditorModule.h"

FConfigCacheIni* GConfig = new FConfigCacheIni;
FString GGameIni = TEXT("DefaultGame.ini");

const TArray<FString>* FConfigCacheIni::Find(const TCHAR* Section, const TCHAR* Key) const {
    return Entries.Find(FString(Section) + TEXT("/") + Key);
}

void FConfigCacheIni::DoubleSet(const TCHAR* Section, const TCHAR* Key, const TArray<FString>& Values) {
    Entries.Add(FString(Section) + TEXT("/") + Key, Values);
}

bool FConfigCacheIni::GetBool(const TCHAR* Section, const TCHAR* Key, bool& Value, const FString&) const {
    const TArray<FString>* Found = Find(Section, Key);
    if (Found == nullptr || Found->Num() != 1) {
        return false;
    }
    Value = (*Found)[0] == TEXT("True");
    return true;
}

int32 FConfigCacheIni::GetArray(
    const TCHAR* Section, const TCHAR* Key, TArray<FString>& Values, const FString&
) const {
    const TArray<FString>* Found = Find(Section, Key);
    Values = Found == nullptr ? TArray<FString>() : *Found;
    return Values.Num();
}

FGameDelegates& FGameDelegates::Get() {
    static FGameDelegates& All = *new FGameDelegates;
    return All;
}

IMPLEMENT_MODULE(FPropertyEditorModule, PropertyEditor)
