// rule: async-pin
// expected: parameter 'Text' of async factory 'UAsyncPin::Ask' is a parameter of its delegate
// 'FAsyncPinHeard' as well
#pragma once

#include "CoreMinimal.h"
#include "Kismet/BlueprintAsyncActionBase.h"

#include "AsyncPin.generated.h"

DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(FAsyncPinHeard, int64, Request, const FString&, Text);

UCLASS()
class HEADERCHECK_API UAsyncPin : public UBlueprintAsyncActionBase
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto", meta = (BlueprintInternalUseOnly = "true"))
    static UAsyncPin* Ask(const FString& Text) { return nullptr; }

    UPROPERTY(BlueprintAssignable)
    FAsyncPinHeard Heard;
};
