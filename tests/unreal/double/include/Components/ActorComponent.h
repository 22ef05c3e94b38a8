// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Engine/EngineTypes.h"
#include "UObject/Object.h"

class AActor;

class UActorComponent : public UObject {
    DOUBLE_CLASS_BODY(UActorComponent, UObject, {}, {})
public:
    AActor* GetOwner() const;
    UWorld* GetWorld() const override;
    void RegisterComponent();
    bool HasBegunPlay() const { return bBegunPlay; }
    void DestroyComponent(bool bPromoteChildren = false);

    virtual void BeginPlay() { bBegunPlay = true; }
    virtual void EndPlay(const EEndPlayReason::Type) { bBegunPlay = false; }
    virtual void OnComponentDestroyed(bool) {}

protected:
    FActorComponentTickFunction PrimaryComponentTick;

private:
    bool bBegunPlay = false;
};
