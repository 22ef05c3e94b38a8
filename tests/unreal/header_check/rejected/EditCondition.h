// rule: edit-condition
// expected: EditCondition of 'UEditCondition::Pace' names 'bPaced', which is no property
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "EditCondition.generated.h"

UCLASS()
class HEADERCHECK_API UEditCondition : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY(EditAnywhere, Category = "Sotto", meta = (EditCondition = "bPaced"))
    float Pace = 0;
};
