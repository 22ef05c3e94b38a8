// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "CoreMinimal.h"

namespace EEndPlayReason {
enum Type : int { Destroyed, LevelTransition, EndPlayInEditor, RemovedFromWorld, Quit };
}

struct FTickFunction {
    bool bCanEverTick = false;
    bool bStartWithTickEnabled = true;
};
struct FActorTickFunction : FTickFunction {};
struct FActorComponentTickFunction : FTickFunction {};
