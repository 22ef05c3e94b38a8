// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "IDetailCustomization.h"
#include "Modules/ModuleManager.h"

DECLARE_DELEGATE_RetVal(TSharedRef<IDetailCustomization>, FOnGetDetailCustomizationInstance);

class FPropertyEditorModule : public IModuleInterface {
public:
    void RegisterCustomClassLayout(FName ClassName, FOnGetDetailCustomizationInstance Make) {
        DoubleLayouts.Add(ClassName, Make);
    }
    void UnregisterCustomClassLayout(FName ClassName) { DoubleLayouts.Remove(ClassName); }

    TMap<FName, FOnGetDetailCustomizationInstance> DoubleLayouts;
};
