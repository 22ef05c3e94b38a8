// rule: pragma-once
// expected: the header does not start with '#pragma once'
#include "CoreMinimal.h"

struct FUnguarded
{
};
