// rule: delegate-name
// expected: delegate 'OnSpoken' lacks the prefix F
#pragma once

#include "CoreMinimal.h"

DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(OnSpoken, const FString&, Text);
