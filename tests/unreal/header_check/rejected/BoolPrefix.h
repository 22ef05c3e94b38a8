// rule: bool-prefix
// expected: bool property 'UBoolPrefix::Speaks' lacks the prefix b
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "BoolPrefix.generated.h"

UCLASS()
class HEADERCHECK_API UBoolPrefix : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY()
    bool Speaks = false;
};
