// rule: struct-function
// expected: 'FActing::Act' is a UFUNCTION of a class that is no UCLASS
#pragma once

#include "CoreMinimal.h"

#include "StructFunction.generated.h"

USTRUCT()
struct FActing
{
    GENERATED_BODY()

    UFUNCTION()
    void Act() {}
};
