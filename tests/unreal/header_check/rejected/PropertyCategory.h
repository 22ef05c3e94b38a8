// rule: property-category
// expected: property 'UPropertyCategory::Pace' has no Category
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "PropertyCategory.generated.h"

UCLASS()
class HEADERCHECK_API UPropertyCategory : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY(EditAnywhere)
    float Pace = 0;
};
