// rule: metadata
// expected: UPROPERTY has unknown metadata key 'ClampLow'
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Metadata.generated.h"

UCLASS()
class HEADERCHECK_API UMetadata : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY(meta = (ClampLow = "0", ClampMax = "1"))
    float Kept = 0;
};
