// rule: async-factory
// expected: async factory 'UAsyncFactory::Ask' lacks BlueprintInternalUseOnly = "true"
#pragma once

#include "CoreMinimal.h"
#include "Kismet/BlueprintAsyncActionBase.h"

#include "AsyncFactory.generated.h"

UCLASS()
class HEADERCHECK_API UAsyncFactory : public UBlueprintAsyncActionBase
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    static UAsyncFactory* Ask() { return nullptr; }
};
