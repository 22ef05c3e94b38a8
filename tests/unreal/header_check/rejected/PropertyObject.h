// rule: property-type
// expected: property 'UPropertyObject::Other': class 'UPropertyTarget' is held by value; use
// TObjectPtr<UPropertyTarget>
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "PropertyObject.generated.h"

UCLASS()
class HEADERCHECK_API UPropertyTarget : public UObject
{
    GENERATED_BODY()

public:
    int32 Kept = 0;
};

UCLASS()
class HEADERCHECK_API UPropertyObject : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY()
    UPropertyTarget Other;
};
