// rule: assignable
// expected: delegate 'UAssignableUnsaid::OnText' is not BlueprintAssignable; Blueprint can't bind to it
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "AssignableUnsaid.generated.h"

DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(FUnsaidText, const FString&, Text);

UCLASS()
class HEADERCHECK_API UAssignableUnsaid : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY()
    FUnsaidText OnText;
};
