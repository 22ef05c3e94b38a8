// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Subsystems/Subsystem.h"

class UGameInstance;

class UGameInstanceSubsystem : public USubsystem {
    DOUBLE_CLASS_BODY(UGameInstanceSubsystem, USubsystem, {}, {})
public:
    UGameInstance* GetGameInstance() const;
};
