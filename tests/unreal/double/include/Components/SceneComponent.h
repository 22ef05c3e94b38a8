// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Components/ActorComponent.h"
#include "Math/Vector.h"

class USceneComponent : public UActorComponent {
    DOUBLE_CLASS_BODY(USceneComponent, UActorComponent, {}, {})
public:
    FVector GetComponentLocation() const { return Location; }
    void SetWorldLocation(const FVector& NewLocation) { Location = NewLocation; }

private:
    FVector Location;
};
