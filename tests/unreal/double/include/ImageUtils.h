// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "CoreTypes.h"
#include "ImageCore.h"

class UTexture2D;

class FImageUtils {
public:
    /** Any thread, once the module ImageWrapper is loaded. The double reads PNG files of `png()` in
     * images_test.cpp. */
    static bool DecompressImage(const void* CompressedData, int64 CompressedSize, FImage& OutImage);
    static UTexture2D* CreateTexture2DFromImage(const FImageView& Image);
};
