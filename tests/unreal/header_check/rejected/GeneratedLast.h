// rule: generated-include
// expected: 'GeneratedLast.generated.h' is not the last include; move it below 'UObject/Object.h'
#pragma once

#include "CoreMinimal.h"
#include "GeneratedLast.generated.h"
#include "UObject/Object.h"

UCLASS()
class HEADERCHECK_API UGeneratedLast : public UObject
{
    GENERATED_BODY()

public:
    int32 Kept = 0;
};
