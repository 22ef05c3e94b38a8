// rule: event-access
// expected: event 'UEventAccess::OnText' is private; Blueprint can't override it
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "EventAccess.generated.h"

UCLASS()
class HEADERCHECK_API UEventAccess : public UObject
{
    GENERATED_BODY()

public:
    int32 Kept = 0;

private:
    UFUNCTION(BlueprintImplementableEvent, Category = "Sotto")
    void OnText();
};
