// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "CoreMinimal.h"

namespace ENamedThreads {
enum Type : int32 { GameThread = 2, AnyThread = 0xff };
}
