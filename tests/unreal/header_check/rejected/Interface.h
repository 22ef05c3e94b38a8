// rule: interface
// expected: UINTERFACE 'ULonely' has no class 'ILonely'
#pragma once

#include "CoreMinimal.h"
#include "UObject/Interface.h"

#include "Interface.generated.h"

UINTERFACE()
class HEADERCHECK_API ULonely : public UInterface
{
    GENERATED_BODY()
};
