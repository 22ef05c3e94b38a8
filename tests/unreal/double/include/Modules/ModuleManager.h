// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Containers/Map.h"
#include "Modules/ModuleInterface.h"
#include "UObject/NameTypes.h"

class FModuleManager {
public:
    static FModuleManager& Get();
    IModuleInterface* LoadModule(FName Name);
    bool UnloadModule(FName Name, bool bIsShutdown = false);
    bool IsModuleLoaded(FName Name) const { return Loaded.Find(Name) != nullptr; }
    IModuleInterface* GetModule(FName Name);
    template <typename ModuleType>
    static ModuleType& LoadModuleChecked(FName Name) {
        return static_cast<ModuleType&>(*Get().LoadModule(Name));
    }
    template <typename ModuleType>
    static ModuleType* GetModulePtr(FName Name) {
        return static_cast<ModuleType*>(Get().GetModule(Name));
    }

    /** Stands for the module's own library. */
    struct FDoubleRegistrar {
        FDoubleRegistrar(const TCHAR* Name, IModuleInterface* (*Make)());
    };

private:
    TMap<FName, IModuleInterface*> Loaded;
};

#define IMPLEMENT_MODULE(ModuleClass, ModuleName)                                                            \
    static const FModuleManager::FDoubleRegistrar GDoubleModule##ModuleName(                                 \
        TEXT(#ModuleName), []() -> IModuleInterface* { return new ModuleClass(); }                           \
    );
