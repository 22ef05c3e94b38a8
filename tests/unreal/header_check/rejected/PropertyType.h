// rule: property-type
// expected: property 'UPropertyType::Text': type 'std::string' is of the C++ standard library; use Unreal's
// own
#pragma once

#include <string>

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "PropertyType.generated.h"

UCLASS()
class HEADERCHECK_API UPropertyType : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY()
    std::string Text;
};
