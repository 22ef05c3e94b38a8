// rule: initialized
// expected: property 'FUninitialized::Pace' has no initial value
#pragma once

#include "CoreMinimal.h"

#include "Initialized.generated.h"

USTRUCT(BlueprintType)
struct FUninitialized
{
    GENERATED_BODY()

    UPROPERTY(EditAnywhere, Category = "Sotto")
    float Pace;
};
