// rule: generated-body
// expected: 'FTwoBodies' has 2 GENERATED_BODY(); expected 1
#pragma once

#include "CoreMinimal.h"

#include "GeneratedBodyTwice.generated.h"

USTRUCT()
struct FTwoBodies
{
    GENERATED_BODY()
    GENERATED_BODY()
};
