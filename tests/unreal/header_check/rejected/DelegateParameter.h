// rule: delegate-parameter
// expected: parameter 'Request' of 'FWideRequest': type 'uint64' is unknown to Blueprint; use int64
#pragma once

#include "CoreMinimal.h"

DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(FWideRequest, uint64, Request, const FString&, Text);
