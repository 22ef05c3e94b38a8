// Images: a decoder of PNG files whose pixels are stored, not compressed, and textures that keep their
// pixels.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "CoreGlobals.h"
#include "Engine/Texture2D.h"
#include "ImageUtils.h"
#include "Modules/ModuleManager.h"
#include "UObject/UObjectGlobals.h"

int32 UTexture2D::DoubleMade = 0;

namespace {

class FImageWrapperDouble : public IModuleInterface {};

int32 big(std::string_view bytes, std::size_t at) {
    int32 number = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
    }
    return number;
}

} // namespace

IMPLEMENT_MODULE(FImageWrapperDouble, ImageWrapper)

bool FImageUtils::DecompressImage(const void* CompressedData, int64 CompressedSize, FImage& OutImage) {
    if (!FModuleManager::Get().IsModuleLoaded("ImageWrapper")) {
        std::abort(); // the engine cannot load a module on a worker thread
    }
    constexpr std::size_t kHeader = 33;    // signature and IHDR
    constexpr std::size_t kPixels = 8 + 7; // length and type of IDAT; headers of zlib and of one stored block
    const std::string_view file(
        static_cast<const char*>(CompressedData), static_cast<std::size_t>(CompressedSize)
    );
    if (file.size() < kHeader || file.substr(1, 3) != "PNG") {
        return false;
    }
    OutImage.SizeX = big(file, 16);
    OutImage.SizeY = big(file, 20);
    const auto row = static_cast<std::size_t>(4 * OutImage.SizeX);
    const auto rows = static_cast<std::size_t>(OutImage.SizeY);
    if (file.size() < kHeader + kPixels + rows * (row + 1)) {
        return false;
    }
    for (std::size_t y = 0; y < rows; ++y) {
        const char* first = file.data() + kHeader + kPixels + y * (row + 1) + 1; // after the filter, 0
        OutImage.RawData.insert(OutImage.RawData.end(), first, first + row);
    }
    return true;
}

UTexture2D* FImageUtils::CreateTexture2DFromImage(const FImageView& Image) {
    if (!IsInGameThread()) {
        std::abort();
    }
    UTexture2D* made = NewObject<UTexture2D>();
    made->SizeX = Image.SizeX;
    made->SizeY = Image.SizeY;
    made->DoublePixels = Image.DoubleImage->RawData;
    ++UTexture2D::DoubleMade;
    return made;
}
