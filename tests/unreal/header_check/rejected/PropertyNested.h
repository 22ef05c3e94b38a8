// rule: property-type
// expected: property 'UPropertyNested::Lines': 'TArray' stands inside 'TArray'; containers of containers need
// a USTRUCT between
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "PropertyNested.generated.h"

UCLASS()
class HEADERCHECK_API UPropertyNested : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY()
    TArray<TArray<FString>> Lines;
};
