// rule: property-type
// expected: property 'UPropertyShared::Kept': template 'TUniquePtr' can't be a property
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "PropertyShared.generated.h"

UCLASS()
class HEADERCHECK_API UPropertyShared : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY()
    TUniquePtr<int32> Kept;
};
