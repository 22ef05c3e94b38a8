// rule: template-class
// expected: USTRUCT 'TListOf' is a template
#pragma once

#include "CoreMinimal.h"

#include "TemplateClass.generated.h"

USTRUCT()
template <typename Kind>
struct TListOf
{
    GENERATED_BODY()
    Kind* First = nullptr;
};
