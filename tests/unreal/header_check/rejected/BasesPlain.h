// rule: bases
// expected: 'UUnmarked' derives from UObject, but has no UCLASS()
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

class HEADERCHECK_API UUnmarked : public UObject
{
public:
    int32 Kept = 0;
};
