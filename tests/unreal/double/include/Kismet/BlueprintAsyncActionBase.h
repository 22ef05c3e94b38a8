// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "UObject/Object.h"

class UGameInstance;

class UBlueprintAsyncActionBase : public UObject {
    DOUBLE_CLASS_BODY(UBlueprintAsyncActionBase, UObject, {}, {})
public:
    virtual void Activate() {}
    /** The game instance keeps the action alive until it is ready to be destroyed. No effect without one. */
    virtual void RegisterWithGameInstance(const UObject* WorldContextObject);
    virtual void SetReadyToDestroy();

protected:
    TWeakObjectPtr<UGameInstance> RegisteredWithGameInstance;
};
