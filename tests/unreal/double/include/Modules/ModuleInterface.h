// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

class IModuleInterface {
public:
    virtual ~IModuleInterface() = default;
    virtual void StartupModule() {}
    virtual void ShutdownModule() {}
};
