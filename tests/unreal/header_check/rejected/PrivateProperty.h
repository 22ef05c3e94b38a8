// rule: private-property
// expected: property 'UPrivateProperty::Pace' is private, and Blueprint reads it; make it protected or public
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "PrivateProperty.generated.h"

UCLASS()
class HEADERCHECK_API UPrivateProperty : public UObject
{
    GENERATED_BODY()

public:
    int32 Kept = 0;

private:
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    float Pace = 0;
};
