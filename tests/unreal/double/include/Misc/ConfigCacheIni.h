// Double of Unreal: see tests/unreal/double/README.md. Holds what tests set.
#pragma once

#include "Containers/Map.h"
#include "Containers/UnrealString.h"

class FConfigCacheIni {
public:
    bool GetBool(const TCHAR* Section, const TCHAR* Key, bool& Value, const FString& File) const;
    int32
    GetArray(const TCHAR* Section, const TCHAR* Key, TArray<FString>& Values, const FString& File) const;
    void DoubleSet(const TCHAR* Section, const TCHAR* Key, const TArray<FString>& Values);

private:
    const TArray<FString>* Find(const TCHAR* Section, const TCHAR* Key) const;

    TMap<FString, TArray<FString>> Entries;
};
