// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "CoreMinimal.h"

class ITargetPlatform;

using FModifyCookDelegate =
    TMulticastDelegate<void(TConstArrayView<const ITargetPlatform*>, TArray<FName>&, TArray<FName>&)>;

class FGameDelegates {
public:
    static FGameDelegates& Get();
    FModifyCookDelegate& GetModifyCookDelegate() { return ModifyCook; }

private:
    FModifyCookDelegate ModifyCook;
};
