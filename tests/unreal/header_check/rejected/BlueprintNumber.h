// rule: blueprint-parameter
// expected: parameter 'Request' of 'UBlueprintNumber::Cancel': type 'uint64' is unknown to Blueprint; use
// int64
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "BlueprintNumber.generated.h"

UCLASS()
class HEADERCHECK_API UBlueprintNumber : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void Cancel(uint64 Request) {}
};
