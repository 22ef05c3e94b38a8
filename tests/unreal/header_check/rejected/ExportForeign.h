// rule: export
// expected: 'UForeign' is exported with ENGINE_API; expected HEADERCHECK_API
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "ExportForeign.generated.h"

#ifndef ENGINE_API
#  define ENGINE_API
#endif

UCLASS()
class ENGINE_API UForeign : public UObject
{
    GENERATED_BODY()

public:
    int32 Kept = 0;
};
