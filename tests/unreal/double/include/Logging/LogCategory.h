// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "CoreTypes.h"

struct FLogCategoryBase {
    const TCHAR* Name;
};
