// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Delegates/Delegate.h"
#include "Misc/EngineVersionComparison.h"

struct FCoreDelegates {
#if UE_VERSION_OLDER_THAN(5, 8, 0)
    static FSimpleMulticastDelegate OnPostEngineInit;
#else
    [[deprecated("use GetOnPostEngineInit()")]] static FSimpleMulticastDelegate OnPostEngineInit;
    static FSimpleMulticastDelegate& GetOnPostEngineInit();
#endif
    static FSimpleMulticastDelegate OnBeginFrame;
    static FSimpleMulticastDelegate OnEndFrame;
    static FSimpleMulticastDelegate OnEnginePreExit;
};
