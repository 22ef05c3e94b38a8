#pragma once

#include "CoreMinimal.h"

/** Finds what a packaged game would lack. */
class FSottoBuildCheck
{
public:
    /** Returns one line for each problem: a missing library, or a model that is not staged. */
    static TArray<FString> FindProblems();
};
