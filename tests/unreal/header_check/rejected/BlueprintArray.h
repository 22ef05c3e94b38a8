// rule: blueprint-parameter
// expected: result of 'UBlueprintArray::Requests': type 'uint32' is unknown to Blueprint; use int64
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "BlueprintArray.generated.h"

UCLASS()
class HEADERCHECK_API UBlueprintArray : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    TArray<uint32> Requests() const { return {}; }
};
