// rule: accessor
// expected: BlueprintSetter of 'UAccessor::Pace' names 'SetPace', which is no UFUNCTION
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Accessor.generated.h"

UCLASS()
class HEADERCHECK_API UAccessor : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY(BlueprintReadWrite, BlueprintSetter = SetPace, Category = "Sotto")
    float Pace = 0;
};
