// rule: static-property
// expected: property 'UStaticProperty::Kept' is static
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "StaticProperty.generated.h"

UCLASS()
class HEADERCHECK_API UStaticProperty : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY()
    static int32 Kept;
};
