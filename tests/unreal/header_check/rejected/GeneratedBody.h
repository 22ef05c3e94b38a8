// rule: generated-body
// expected: 'UBodiless' has 0 GENERATED_BODY(); expected 1
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "GeneratedBody.generated.h"

UCLASS()
class HEADERCHECK_API UBodiless : public UObject
{
public:
    int32 Kept = 0;
};
