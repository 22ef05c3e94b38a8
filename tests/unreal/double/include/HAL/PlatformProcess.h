// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "HAL/Platform.h"

struct FPlatformProcess {
    static void* GetDllHandle(const TCHAR* File);
    static void FreeDllHandle(void* Handle);
    static void* GetDllExport(void* Handle, const TCHAR* Name);
};
