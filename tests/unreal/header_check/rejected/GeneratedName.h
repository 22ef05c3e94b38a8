// rule: generated-include
// expected: 'Other.generated.h' is included; expected 'GeneratedName.generated.h'
#pragma once

#include "CoreMinimal.h"

#include "Other.generated.h"

UENUM()
enum class ENamed : uint8
{
    None
};
