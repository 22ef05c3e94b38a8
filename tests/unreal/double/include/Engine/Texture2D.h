// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <vector>

#include "UObject/Object.h"

class UTexture2D : public UObject {
    DOUBLE_CLASS_BODY(UTexture2D, UObject, {}, {})

public:
    int32 GetSizeX() const { return SizeX; }
    int32 GetSizeY() const { return SizeY; }

    int32 SizeX = 0;
    int32 SizeY = 0;
    /** RGBA, the highest row first. */
    std::vector<uint8> DoublePixels;
    /** Number of textures that were made. */
    static int32 DoubleMade;
};
