// rule: unnamed-parameter
// expected: 'UUnnamed::Say' has a parameter without a name
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "UnnamedParameter.generated.h"

UCLASS()
class HEADERCHECK_API UUnnamed : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION()
    void Say(float) {}
};
