// rule: world-context
// expected: 'UWorldContextUnsaid::Find' lacks meta = (WorldContext = "WorldContextObject")
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "WorldContextUnsaid.generated.h"

UCLASS()
class HEADERCHECK_API UWorldContextUnsaid : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    static void Find(const UObject* WorldContextObject) {}
};
