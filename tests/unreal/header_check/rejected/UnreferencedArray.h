// rule: unreferenced
// expected: 'FUnreferenced::Targets' holds an object, but is no UPROPERTY(); add it or use TWeakObjectPtr
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

struct FUnreferenced
{
    TArray<TObjectPtr<UObject>> Targets;
};
