// rule: property-type
// expected: property 'UPropertyNumber::Request': type 'uint64' is unknown to Blueprint; use int64
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "PropertyNumber.generated.h"

UCLASS()
class HEADERCHECK_API UPropertyNumber : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY()
    uint64 Quiet = 0;

    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    uint64 Request = 0;
};
