// rule: implementable-event
// expected: BlueprintImplementableEvent 'UImplementable::OnText' has a body in C++; remove it
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "ImplementableEvent.generated.h"

UCLASS()
class HEADERCHECK_API UImplementable : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintImplementableEvent, Category = "Sotto")
    void OnText() {}
};
