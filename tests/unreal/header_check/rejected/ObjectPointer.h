// rule: object-pointer
// expected: property 'UObjectPointer::Target' is a raw pointer; use TObjectPtr<UObject>
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "ObjectPointer.generated.h"

UCLASS()
class HEADERCHECK_API UObjectPointer : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY()
    UObject* Target = nullptr;
};
