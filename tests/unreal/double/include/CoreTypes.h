// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "HAL/Platform.h"
#include "Misc/CoreMiscDefines.h"
