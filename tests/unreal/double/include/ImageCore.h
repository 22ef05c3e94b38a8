// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <vector>

#include "CoreTypes.h"

/** An image in memory; in the double always RGBA of 8 bits per channel. */
struct FImage {
    int32 SizeX = 0;
    int32 SizeY = 0;
    std::vector<uint8> RawData;
};

/** A view of an image. */
struct FImageView {
    FImageView(const FImage& Image) : SizeX(Image.SizeX), SizeY(Image.SizeY), DoubleImage(&Image) {}

    int32 SizeX;
    int32 SizeY;
    const FImage* DoubleImage;
};
