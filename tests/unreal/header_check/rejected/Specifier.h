// rule: specifier
// expected: UPROPERTY has unknown specifier 'EditEverywhere'
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Specifier.generated.h"

UCLASS()
class HEADERCHECK_API USpecifier : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY(EditEverywhere)
    int32 Kept = 0;
};
