// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "CoreTypes.h"

namespace ELogVerbosity {
enum Type : uint8 { NoLogging, Fatal, Error, Warning, Display, Log, Verbose, VeryVerbose, All = VeryVerbose };
}
