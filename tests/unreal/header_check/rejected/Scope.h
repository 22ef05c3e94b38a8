// rule: scope
// expected: UENUM 'EInside' stands inside 'HeaderCheck'
#pragma once

#include "CoreMinimal.h"

#include "Scope.generated.h"

namespace HeaderCheck
{
UENUM()
enum class EInside : uint8
{
    None
};
} // namespace HeaderCheck
