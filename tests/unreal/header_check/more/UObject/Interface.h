// Double of Unreal, for the samples: the plugin has no interfaces, so that tests/unreal/double has no
// UInterface.
#pragma once

#include "UObject/Object.h"

class UInterface : public UObject
{
};
