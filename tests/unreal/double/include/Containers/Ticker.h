// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Delegates/Delegate.h"

DECLARE_DELEGATE_RetVal_OneParam(bool, FTickerDelegate, float);

/** Calls delegates once a frame, until they return false. */
class FTSTicker {
public:
    using FDelegateHandle = ::FDelegateHandle;

    static FTSTicker& GetCoreTicker();
    FDelegateHandle AddTicker(const FTickerDelegate& Delegate, float Delay = 0.0f);
    static void RemoveTicker(FDelegateHandle Handle);
    void Tick(float DeltaSeconds);

private:
    struct FEntry {
        FDelegateHandle Handle;
        FTickerDelegate Delegate;
    };
    TArray<FEntry> Entries;
};
