// rule: specifier-syntax
// expected: UPROPERTY: a comma is missing in '(Transient SaveGame)'
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "SpecifierSyntax.generated.h"

UCLASS()
class HEADERCHECK_API USpecifierSyntax : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY(Transient SaveGame)
    int32 Kept = 0;
};
