// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Delegates/Delegate.h"

struct FCoreDelegates {
    static FSimpleMulticastDelegate OnPostEngineInit;
    static FSimpleMulticastDelegate OnBeginFrame;
    static FSimpleMulticastDelegate OnEndFrame;
    static FSimpleMulticastDelegate OnEnginePreExit;
};
