// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Kismet/BlueprintAsyncActionBase.h"

class UCancellableAsyncAction : public UBlueprintAsyncActionBase {
    DOUBLE_CLASS_BODY(UCancellableAsyncAction, UBlueprintAsyncActionBase, {}, {})
public:
    void BeginDestroy() override;
    virtual void Cancel() { SetReadyToDestroy(); }
    virtual bool IsActive() const { return ShouldBroadcastDelegates(); }
    /** Returns true while the action is registered: without a game instance, no pin may be executed. */
    virtual bool ShouldBroadcastDelegates() const { return IsRegistered(); }
    bool IsRegistered() const { return RegisteredWithGameInstance.IsValid(); }
};
