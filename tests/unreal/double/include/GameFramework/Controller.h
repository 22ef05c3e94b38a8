// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "GameFramework/Actor.h"

/** Has a scene component, which places it. */
class AController : public AActor {
    DOUBLE_CLASS_BODY(AController, AActor, {}, {})
public:
    AController();
};
