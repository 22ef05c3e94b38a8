// rule: compiles
// expected: unknown type name 'FNoSuchType'
#pragma once

#include "CoreMinimal.h"

struct FUncompiled
{
    FNoSuchType* Kept = nullptr;
};
