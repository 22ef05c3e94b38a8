// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "GameFramework/Actor.h"

class APlayerController : public AActor {
    DOUBLE_CLASS_BODY(APlayerController, AActor, {}, {})
public:
    void GetPlayerViewPoint(FVector& OutLocation, FRotator& OutRotation) const {
        OutLocation = GetActorLocation();
        OutRotation = FRotator();
    }
};
