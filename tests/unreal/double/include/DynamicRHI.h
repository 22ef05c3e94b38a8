// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "CoreMinimal.h"
#include "RHIDefinitions.h"

class FDynamicRHI {
public:
    virtual ~FDynamicRHI() = default;
    virtual const TCHAR* GetName() = 0;
    virtual ERHIInterfaceType GetInterfaceType() const = 0;
};

extern FDynamicRHI* GDynamicRHI;
