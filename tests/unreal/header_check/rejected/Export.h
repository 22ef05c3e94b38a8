// rule: export
// expected: 'UHidden' lacks HEADERCHECK_API; other modules can't link against it
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Export.generated.h"

UCLASS()
class UHidden : public UObject
{
    GENERATED_BODY()

public:
    int32 Kept = 0;
};
