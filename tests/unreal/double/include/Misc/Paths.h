// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Containers/UnrealString.h"

class FPaths {
public:
    static FString ProjectContentDir();
    static FString ProjectSavedDir();
    static bool FileExists(const FString& Path);
    static bool IsRelative(const FString& Path);
    static FString ConvertRelativePathToFull(const FString& Path);
    static FString GetPath(const FString& Path);
    template <typename... PathTypes>
    static FString Combine(const FString& First, PathTypes... Rest) {
        FString Joined = First;
        ((Joined = DoubleJoin(Joined, Rest)), ...);
        return Joined;
    }

private:
    static FString DoubleJoin(const FString& Left, const FString& Right);
};
