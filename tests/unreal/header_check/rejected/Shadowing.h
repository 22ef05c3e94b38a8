// rule: shadowing
// expected: parameter 'Pace' of 'UShadowing::Say' hides the property of that name
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Shadowing.generated.h"

UCLASS()
class HEADERCHECK_API UShadowing : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY()
    float Pace = 0;

    UFUNCTION()
    void Say(float Pace) {}
};
