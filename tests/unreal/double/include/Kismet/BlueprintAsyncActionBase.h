// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Engine/GameInstance.h"

class UBlueprintAsyncActionBase : public UObject {
    DOUBLE_CLASS_BODY(UBlueprintAsyncActionBase, UObject, {}, {})
public:
    virtual void Activate() {}
    /** The game instance keeps the action alive until it is ready to be destroyed. */
    void RegisterWithGameInstance(const UObject* WorldContextObject);
    virtual void SetReadyToDestroy();
    bool IsRegistered() const { return RegisteredWithGameInstance.IsValid(); }

protected:
    TWeakObjectPtr<UGameInstance> RegisteredWithGameInstance;
};
