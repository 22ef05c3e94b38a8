// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Containers/UnrealString.h"

class FName {
public:
    FName() = default;
    FName(const TCHAR* Text) : Held(Text) {}
    FName(const ANSICHAR* Text) : Held(Text) {}
    explicit FName(const FString& Text) : Held(Text) {}
    FString ToString() const { return Held; }
    bool IsNone() const { return Held.IsEmpty(); }
    friend bool operator==(const FName& Left, const FName& Right) { return Left.Held == Right.Held; }

private:
    FString Held;
};

#define NAME_None FName()
