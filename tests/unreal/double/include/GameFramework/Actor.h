// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Engine/EngineTypes.h"
#include "Math/Vector.h"
#include "UObject/Object.h"

class UActorComponent;
class ULevel;
class USceneComponent;

class AActor : public UObject {
    DOUBLE_CLASS_BODY(AActor, UObject, {}, {
        Visitor.Visit(Components);
        Visitor.Visit(RootComponent);
    })
public:
    UWorld* GetWorld() const override;
    /** Returns the level that the actor was placed in. Null for a default object. */
    ULevel* GetLevel() const;
    USceneComponent* GetRootComponent() const { return RootComponent; }
    bool SetRootComponent(USceneComponent* NewRoot) {
        RootComponent = NewRoot;
        return true;
    }
    /** The location of the root component. Zero without one. */
    FVector GetActorLocation() const;
    /** Moves the root component. Returns false without one. */
    bool SetActorLocation(const FVector& NewLocation);
    bool Destroy(bool bNetForce = false, bool bShouldModifyLevel = true);
    bool HasActorBegunPlay() const { return bBegunPlay; }
    void AddOwnedComponent(UActorComponent* Component);
    void RemoveOwnedComponent(UActorComponent* Component);

    /** Takes the default subobjects as components and begins play, as the world does with an actor. */
    void DispatchBeginPlay();
    void RouteEndPlay(const EEndPlayReason::Type Reason);

protected:
    virtual void BeginPlay();
    virtual void EndPlay(const EEndPlayReason::Type) {}

    FActorTickFunction PrimaryActorTick;
    TObjectPtr<USceneComponent> RootComponent;

private:
    TArray<TObjectPtr<UActorComponent>> Components;
    bool bBegunPlay = false;
};
