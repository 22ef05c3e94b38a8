// rule: enum-size
// expected: UENUM 'EWideMood' is over int32; Blueprint knows uint8 only
#pragma once

#include "CoreMinimal.h"

#include "EnumSize.generated.h"

UENUM(BlueprintType)
enum class EWideMood : int32
{
    Calm UMETA(DisplayName = "Calm"),
    Angry
};
