// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "GameFramework/Controller.h"
#include "Math/Rotator.h"

class APlayerController : public AController {
    DOUBLE_CLASS_BODY(APlayerController, AController, {}, {})
public:
    void GetPlayerViewPoint(FVector& OutLocation, FRotator& OutRotation) const {
        OutLocation = GetActorLocation();
        OutRotation = FRotator();
    }
};
