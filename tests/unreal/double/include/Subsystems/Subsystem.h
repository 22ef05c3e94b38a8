// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "UObject/Object.h"

class FSubsystemCollectionBase;

class USubsystem : public UObject {
    DOUBLE_CLASS_BODY(USubsystem, UObject, {}, {})
public:
    virtual bool ShouldCreateSubsystem(UObject*) const { return true; }
    virtual void Initialize(FSubsystemCollectionBase&) {}
    virtual void Deinitialize() {}
};
