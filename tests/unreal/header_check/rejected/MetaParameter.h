// rule: meta-parameter
// expected: AdvancedDisplay of 'UMetaParameter::Ask' names 'Paces', which is no parameter
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "MetaParameter.generated.h"

UCLASS()
class HEADERCHECK_API UMetaParameter : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto", meta = (AdvancedDisplay = "Pace, Paces"))
    void Ask(float Pace) {}
};
