// rule: prefix
// expected: 'HSpoken' lacks the prefix F
#pragma once

#include "CoreMinimal.h"

#include "PrefixStruct.generated.h"

USTRUCT()
struct HSpoken
{
    GENERATED_BODY()
};
