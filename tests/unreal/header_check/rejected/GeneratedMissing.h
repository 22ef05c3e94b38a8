// rule: generated-include
// expected: 'GeneratedMissing.generated.h' is not included; the header declares reflected types
#pragma once

#include "CoreMinimal.h"

UENUM()
enum class EMissing : uint8
{
    None
};
