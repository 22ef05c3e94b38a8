// rule: pure-result
// expected: BlueprintPure 'UPureResult::Look' returns nothing
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "PureResult.generated.h"

UCLASS()
class HEADERCHECK_API UPureResult : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintPure, Category = "Sotto")
    void Look() const {}
};
