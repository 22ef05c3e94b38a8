// Double of Unreal: see tests/unreal/double/README.md. Settings have their defaults: no files are read.
#pragma once

#include "UObject/Object.h"

class UDeveloperSettings : public UObject {
    DOUBLE_CLASS_BODY(UDeveloperSettings, UObject, {}, {})
public:
    virtual FName GetContainerName() const { return FName(TEXT("Project")); }
    virtual FName GetCategoryName() const { return FName(); }
    virtual FName GetSectionName() const { return FName(GetClass()->GetName()); }
};
