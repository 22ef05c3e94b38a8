// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "UObject/Object.h"

class UPackage : public UObject {
    DOUBLE_CLASS_BODY(UPackage, UObject, {}, {})
};
