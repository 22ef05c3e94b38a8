// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Containers/UnrealString.h"

class FText {
public:
    FText() = default;
    static FText FromString(const FString& Text) {
        FText Made;
        Made.Held = Text;
        return Made;
    }
    static FText GetEmpty() { return FText(); }
    const FString& ToString() const { return Held; }
    bool IsEmpty() const { return Held.IsEmpty(); }

private:
    FString Held;
};
