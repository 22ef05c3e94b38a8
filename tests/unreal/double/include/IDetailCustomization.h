// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "CoreMinimal.h"

class IDetailLayoutBuilder;

class IDetailCustomization {
public:
    virtual ~IDetailCustomization() = default;
    virtual void CustomizeDetails(IDetailLayoutBuilder& DetailBuilder) = 0;
};
