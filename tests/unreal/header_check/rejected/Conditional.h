// rule: conditional
// expected: UPROPERTY stands inside '#if PLATFORM_LINUX'
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Conditional.generated.h"

UCLASS()
class HEADERCHECK_API UConditional : public UObject
{
    GENERATED_BODY()

public:
#if PLATFORM_LINUX
    UPROPERTY()
    int32 OnlyHere = 0;
#endif
#if WITH_EDITORONLY_DATA
    UPROPERTY()
    int32 InEditor = 0;
#endif
};
