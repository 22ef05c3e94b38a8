// rule: scope
// expected: USTRUCT 'FNested' stands inside 'FOutside'
#pragma once

#include "CoreMinimal.h"

#include "ScopeClass.generated.h"

struct FOutside
{
    USTRUCT()
    struct FNested
    {
        GENERATED_BODY()
    };
};
