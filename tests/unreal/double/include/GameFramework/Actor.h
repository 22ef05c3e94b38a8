// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Components/ActorComponent.h"

class AActor : public UObject {
    DOUBLE_CLASS_BODY(AActor, UObject, {}, Visitor.Visit(Components))
public:
    UWorld* GetWorld() const override;
    FVector GetActorLocation() const { return Location; }
    bool SetActorLocation(const FVector& NewLocation) {
        Location = NewLocation;
        return true;
    }
    bool Destroy(bool bNetForce = false, bool bShouldModifyLevel = true);
    bool HasActorBegunPlay() const { return bBegunPlay; }
    void AddOwnedComponent(UActorComponent* Component) { Components.AddUnique(Component); }
    void RemoveOwnedComponent(UActorComponent* Component);

    /** Takes the default subobjects as components and begins play, as the world does with an actor. */
    void DispatchBeginPlay();
    void RouteEndPlay(const EEndPlayReason::Type Reason);

protected:
    virtual void BeginPlay();
    virtual void EndPlay(const EEndPlayReason::Type) {}

    FActorTickFunction PrimaryActorTick;

private:
    TArray<TObjectPtr<UActorComponent>> Components;
    FVector Location;
    bool bBegunPlay = false;
};
