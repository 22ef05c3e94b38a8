// rule: prefix
// expected: 'SottoSpeaker' lacks the prefix U
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Prefix.generated.h"

UCLASS()
class HEADERCHECK_API SottoSpeaker : public UObject
{
    GENERATED_BODY()

public:
    int32 Kept = 0;
};
