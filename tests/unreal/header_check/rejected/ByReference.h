// rule: by-reference
// expected: parameter 'Text' of 'UByReference::Say' is passed by value; use const FString&
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "ByReference.generated.h"

UCLASS()
class HEADERCHECK_API UByReference : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void Say(FString Text) {}
};
