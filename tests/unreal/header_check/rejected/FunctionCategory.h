// rule: function-category
// expected: 'UUncategorized::Stop' has no Category
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "FunctionCategory.generated.h"

UCLASS()
class HEADERCHECK_API UUncategorized : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable)
    void Stop() {}
};
