// rule: blueprint-parameter
// expected: parameter 'Line' of 'UBlueprintShort::Choose': type 'int16' is unknown to Blueprint; use int32
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "BlueprintShort.generated.h"

UCLASS()
class HEADERCHECK_API UBlueprintShort : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void Choose(int16 Line) {}
};
