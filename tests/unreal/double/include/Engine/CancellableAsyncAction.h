// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Kismet/BlueprintAsyncActionBase.h"

class UCancellableAsyncAction : public UBlueprintAsyncActionBase {
    DOUBLE_CLASS_BODY(UCancellableAsyncAction, UBlueprintAsyncActionBase, {}, {})
public:
    virtual void Cancel() { SetReadyToDestroy(); }
    virtual bool IsActive() const { return ShouldBroadcastDelegates(); }
    bool ShouldBroadcastDelegates() const { return IsRegistered(); }
};
