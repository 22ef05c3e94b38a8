// rule: bases
// expected: UCLASS 'UTwoBases' has two UObject bases: UObject, UFirstBase
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Bases.generated.h"

UCLASS()
class HEADERCHECK_API UFirstBase : public UObject
{
    GENERATED_BODY()

public:
    int32 Kept = 0;
};

UCLASS()
class HEADERCHECK_API UTwoBases : public UObject, public UFirstBase
{
    GENERATED_BODY()

public:
    int32 Also = 0;
};
