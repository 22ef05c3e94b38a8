// rule: unreferenced
// expected: 'UUnreferenced::Target' holds an object, but is no UPROPERTY(); add it or use TWeakObjectPtr
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Unreferenced.generated.h"

UCLASS()
class HEADERCHECK_API UUnreferenced : public UObject
{
    GENERATED_BODY()

public:
    TWeakObjectPtr<UObject> Weak;
    UObject* Target = nullptr;
};
