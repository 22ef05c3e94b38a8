// rule: overload
// expected: 'UOverload::Ask' is overloaded; UFUNCTIONs can't be
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Overload.generated.h"

UCLASS()
class HEADERCHECK_API UOverload : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION()
    void Ask(const FString& Text) {}

    UFUNCTION()
    void Ask(int32 Line) {}
};
