// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "CoreMinimal.h"

class UGameInstance;

class FSubsystemCollectionBase {};

class USubsystem : public UObject {
    DOUBLE_CLASS_BODY(USubsystem, UObject, {}, {})
public:
    virtual bool ShouldCreateSubsystem(UObject*) const { return true; }
    virtual void Initialize(FSubsystemCollectionBase&) {}
    virtual void Deinitialize() {}
};

class UGameInstanceSubsystem : public USubsystem {
    DOUBLE_CLASS_BODY(UGameInstanceSubsystem, USubsystem, {}, {})
public:
    UGameInstance* GetGameInstance() const;
};
