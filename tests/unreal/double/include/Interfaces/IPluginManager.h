// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Containers/UnrealString.h"
#include "Templates/SharedPointer.h"

class IPlugin {
public:
    explicit IPlugin(const FString& Folder) : BaseDir(Folder) {}
    const FString& GetBaseDir() const { return BaseDir; }

private:
    FString BaseDir;
};

class IPluginManager {
public:
    static IPluginManager& Get();
    TSharedPtr<IPlugin> FindPlugin(const TCHAR* Name);
};
