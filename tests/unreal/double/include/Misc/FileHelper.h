// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Containers/UnrealString.h"

struct FFileHelper {
    enum class EHashOptions { None = 0, EnableVerify = 1 << 0, ErrorMissingHash = 1 << 1 };

    /** Reads a text file. Returns false if it cannot be read. */
    static bool LoadFileToString(
        FString& Result,
        const TCHAR* Filename,
        EHashOptions VerifyFlags = EHashOptions::None,
        uint32 ReadFlags = 0
    );
};
