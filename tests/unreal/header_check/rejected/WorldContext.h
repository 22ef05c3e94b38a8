// rule: world-context
// expected: WorldContext of 'UWorldContext::Find' names 'WorldContextObject', which is no parameter
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "WorldContext.generated.h"

UCLASS()
class HEADERCHECK_API UWorldContext : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto", meta = (WorldContext = "WorldContextObject"))
    static void Find(const UObject* Context) {}
};
