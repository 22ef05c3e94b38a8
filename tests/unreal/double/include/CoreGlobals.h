// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Containers/UnrealString.h"

class FConfigCacheIni;

extern FConfigCacheIni* GConfig;
extern FString GGameIni;

bool IsInGameThread();
