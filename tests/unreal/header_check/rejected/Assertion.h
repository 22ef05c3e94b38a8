// rule: assertion
// expected: checkf() ends the game; log the reason and return instead
#pragma once

#include "CoreMinimal.h"
#include "Misc/AssertionMacros.h"

inline void HeaderCheckAssertion(void* Library)
{
    // check(Library) in a comment is no finding, nor is "verify(Library)".
    checkf(Library != nullptr, TEXT("library missing"));
}
