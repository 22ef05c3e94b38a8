// rule: config-class
// expected: 'UUnconfigured' has the Config property 'Kept', but no Config=<file>
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "ConfigClass.generated.h"

UCLASS()
class HEADERCHECK_API UUnconfigured : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY(Config)
    int32 Kept = 0;
};
