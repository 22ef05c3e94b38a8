// rule: enum-size
// expected: UENUM 'EPlainMood' is no enum class
#pragma once

#include "CoreMinimal.h"

#include "EnumClass.generated.h"

UENUM()
enum EPlainMood
{
    PlainCalm
};
