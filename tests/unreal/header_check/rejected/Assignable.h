// rule: assignable
// expected: property 'UAssignable::Pace' is BlueprintAssignable, but no dynamic multicast delegate
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Assignable.generated.h"

UCLASS()
class HEADERCHECK_API UAssignable : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY(BlueprintAssignable)
    float Pace = 0;
};
