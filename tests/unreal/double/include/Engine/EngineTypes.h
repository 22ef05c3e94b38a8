// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Engine/EngineBaseTypes.h"

namespace EEndPlayReason {
enum Type : int { Destroyed, LevelTransition, EndPlayInEditor, RemovedFromWorld, Quit };
}
