// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Containers/Map.h"
#include "Modules/ModuleInterface.h"
#include "PropertyEditorDelegates.h"
#include "UObject/NameTypes.h"

class FPropertyEditorModule : public IModuleInterface {
public:
    void RegisterCustomClassLayout(FName ClassName, FOnGetDetailCustomizationInstance Make) {
        DoubleLayouts.Add(ClassName, Make);
    }
    void UnregisterCustomClassLayout(FName ClassName) { DoubleLayouts.Remove(ClassName); }

    TMap<FName, FOnGetDetailCustomizationInstance> DoubleLayouts;
};
