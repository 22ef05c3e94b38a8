// Images: nodes that generate one or remove its background, and yield a texture.
#include <cstdlib>

#include "SottoImageAction.h"
#include "SottoLibrary.h"
#include "fixture.hpp"

using namespace fixture;

namespace {

std::string big(std::size_t number) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) {
        bytes += static_cast<char>(number >> shift & 255);
    }
    return bytes;
}

/** Returns a PNG of RGBA whose rows are stored: filter 0, one block of deflate, no valid checksums. */
std::string png(std::size_t width, std::size_t height, char first) {
    std::string rows;
    for (std::size_t y = 0; y < height; ++y) {
        rows += '\0';
        for (std::size_t x = 0; x < 4 * width; ++x) {
            rows += static_cast<char>(first + static_cast<char>(y * 4 * width + x));
        }
    }
    const auto size = static_cast<unsigned>(rows.size());
    std::string block("\x78\x01\x01", 3);
    for (const unsigned number : {size, ~size}) {
        block += static_cast<char>(number & 255);
        block += static_cast<char>(number >> 8 & 255);
    }
    block += rows + big(0);
    const std::string header = big(width) + big(height) + std::string("\x08\x06\x00\x00\x00", 5);
    return "\x89PNG\r\n\x1a\n" + big(13) + "IHDR" + header + big(0) + big(block.size()) + "IDAT" + block +
           big(0) + big(0) + "IEND" + big(0);
}

std::string hex(const std::string& bytes) {
    std::string digits;
    for (const char byte : bytes) {
        for (const int shift : {4, 0}) {
            digits += "0123456789abcdef"[static_cast<unsigned char>(byte) >> shift & 15];
        }
    }
    return digits;
}

/** A script of an image model that has a preview of 2x2 pixels, if there is one, and an image. */
std::string painter(const std::string& image, const std::string& preview = png(2, 2, 9), int ms = 1) {
    std::string data = "\"" + hex(image) + "\"";
    std::string infos = R"({"index": 0, "seed": 7, "width": 3, "height": 5, "format": "png"})";
    if (!preview.empty()) {
        data = "\"" + hex(preview) + "\", " + data;
        infos = R"({"index": 0, "seed": null, "width": 2, "height": 2, "partial": true}, )" + infos;
    }
    return R"({"response": {"data": []}, "tokens": [], "step_tokens": 1, "prompt_tokens": 8,)"
           R"( "prompt_token_ms": )" +
           std::to_string(ms) + ", \"data\": [" + data + "], \"data_info\": [" + infos + "]}";
}

FSottoImageRequest fox() {
    FSottoImageRequest wanted;
    wanted.Prompt = TEXT("a fox, \"oil\"");
    wanted.Previews = 1;
    return wanted;
}

UTestListener* begin(DoublePlay& play, USottoImageAction* action) {
    UTestListener* heard = NewObject<UTestListener>(&play.game());
    play.game().RegisterReferencedObject(heard);
    action->Progress.AddDynamic(heard, &UTestListener::HandleImageProgress);
    action->Preview.AddDynamic(heard, &UTestListener::HandlePreview);
    action->Done.AddDynamic(heard, &UTestListener::HandleImage);
    action->Failed.AddDynamic(heard, &UTestListener::HandleImage);
    action->Activate();
    return heard;
}

/** Runs a node to its end. */
UTestListener* run(DoublePlay& play, USottoImageAction* action) {
    UTestListener* heard = begin(play, action);
    REQUIRE(double_run_until([&] { return heard->Images.Num() != 0; }));
    CHECK(heard->Images.Num() == 1);
    CHECK_FALSE(action->IsActive());
    return heard;
}

UTestListener* paint(DoublePlay& play, const FSottoImageRequest& wanted = fox()) {
    return run(play, USottoImageAction::GenerateImage(&play.world(), wanted));
}

} // namespace

TEST_CASE("a node generates an image: progress, a preview, then a texture with its pixels") {
    reset();
    const std::string file = png(3, 5, 1);
    const Scripted model(painter(file, png(2, 2, 9), 10));
    DoublePlay play;
    const UTestListener* heard = paint(play);
    const FSottoImage& image = heard->Images[0];
    CHECK(image.Status == ESottoStatus::Ok);
    CHECK(image.Error.IsEmpty());
    CHECK(image.Seed == 7);
    CHECK(image.Width == 3);
    CHECK(image.Height == 5);
    CHECK_FALSE(image.bPreview);
    CHECK(
        std::string(
            reinterpret_cast<const char*>(image.File.GetData()), static_cast<std::size_t>(image.File.Num())
        ) == file
    );
    REQUIRE(image.Texture != nullptr);
    CHECK(image.Texture->GetSizeX() == 3);
    REQUIRE(image.Texture->DoublePixels.size() == 60);
    CHECK(image.Texture->DoublePixels[0] == 1);
    CHECK(image.Texture->DoublePixels[59] == 60);
    REQUIRE(heard->Fractions.Num() >= 8);
    for (int32 i = 1; i < heard->Fractions.Num(); ++i) {
        CHECK(heard->Fractions[i] >= heard->Fractions[i - 1]);
    }
    for (const FSottoImage& preview : heard->Previews) { // none if both were decoded in one frame
        CHECK(preview.bPreview);
        CHECK(preview.Seed == -1);
        CHECK(preview.Texture->GetSizeX() == 2);
    }
    CollectGarbage(RF_NoFlags);
    CHECK(heard->Textures[heard->Textures.Num() - 1] == image.Texture); // a property keeps it
    CHECK(DoubleTakeLog(ELogVerbosity::Error).IsEmpty());
}

TEST_CASE("a preview is delivered while the image is computed") {
    reset();
    std::string script = painter(png(3, 5, 1));
    script.insert(1, R"("block_at": 1, "block_ms": 1500, )"); // the image comes that long after the preview
    const Scripted model(script);
    DoublePlay play;
    const UTestListener* heard = paint(play);
    REQUIRE(heard->Previews.Num() == 1);
    CHECK(heard->Previews[0].Texture->DoublePixels[0] == 9);
    CHECK(heard->Images[0].Status == ESottoStatus::Ok);
}

TEST_CASE("a frame makes one texture at most") {
    reset();
    const Scripted model(painter(png(3, 5, 1), {}, 0));
    DoublePlay play;
    REQUIRE(double_run_until([&] { return subsystem(play).IsModelReady(FString()); }));
    constexpr int32 kCount = 5;
    int32 ended = 0;
    FSottoImageHandlers handlers;
    handlers.Ended.BindLambda([&](const FSottoImage& one) { ended += one.Texture != nullptr ? 1 : 0; });
    for (int32 i = 0; i < kCount; ++i) {
        subsystem(play).GetHost().GenerateImage(fox(), handlers);
    }
    int32 most = 0;
    REQUIRE(double_run_until([&] {
        static int32 before = UTexture2D::DoubleMade;
        most = std::max(most, UTexture2D::DoubleMade - before);
        before = UTexture2D::DoubleMade;
        return ended == kCount;
    }));
    CHECK(most == 1);
}

TEST_CASE("a node removes a background, and fields have their limits") {
    reset();
    const Scripted model(painter(png(3, 5, 1), {}));
    DoublePlay play;
    const FSottoImage first = paint(play)->Images[0];
    const UTestListener* cut =
        run(play, USottoImageAction::RemoveBackground(&play.world(), FString(), first.File));
    CHECK(cut->Images[0].Status == ESottoStatus::Ok);
    CHECK(cut->Images[0].Texture != nullptr);
    FSottoImageRequest every = fox();
    every.NegativePrompt = TEXT("text");
    every.Width = 64;
    every.Height = 32;
    every.Steps = 4;
    every.GuidanceScale = 1.5f;
    every.Seed = 7;
    every.StartImage = first.File;
    every.Strength = 0.25f;
    CHECK(paint(play, every)->Images[0].Status == ESottoStatus::Ok); // the library knows each field
    every.Height = 0;
    const FSottoImage refused = paint(play, every)->Images[0];
    CHECK(refused.Status == ESottoStatus::Argument);
    CHECK(refused.Error.Contains(TEXT("size")));
    CHECK(refused.Texture == nullptr);
    const UTestListener* none =
        run(play, USottoImageAction::RemoveBackground(&play.world(), FString(), TArray<uint8>()));
    CHECK(none->Images[0].Status == ESottoStatus::Argument);
    CHECK(none->Images[0].Error.Contains(TEXT("image")));
}

TEST_CASE("the matting model lies beside the library, not in the project") {
    reset();
    ::setenv("SOTTO_ONNXRUNTIME", "/none/libonnxruntime.so", 1); // which the module of the model looks for
    DoublePlay play;
    const TArray<uint8> file = {0x89, 'P', 'N', 'G'};
    const FSottoImage cut =
        run(play, USottoImageAction::RemoveBackground(&play.world(), TEXT("sotto/matting"), file))->Images[0];
    ::unsetenv("SOTTO_ONNXRUNTIME");
    CHECK(cut.Status == ESottoStatus::Unsupported);
    CHECK_MESSAGE(cut.Error.Contains(TEXT("ONNX Runtime was not found")), utf8(cut.Error));
}

TEST_CASE("images that fail say why") {
    reset();
    {
        const Scripted model(painter("no PNG", "no preview"));
        DoublePlay play;
        const UTestListener* heard = paint(play);
        CHECK(heard->Images[0].Status == ESottoStatus::Inference);
        CHECK(heard->Images[0].Error.Contains(TEXT("expected a PNG")));
        CHECK(heard->Previews.IsEmpty());
    }
    {
        const Scripted model(R"({"response": {"data": []}, "tokens": []})");
        DoublePlay play;
        CHECK(paint(play)->Images[0].Error.Contains(TEXT("no image")));
        FSottoImageRequest lost = fox();
        lost.Model = TEXT("lost.gguf");
        CHECK(paint(play, lost)->Images[0].Error.Contains(TEXT("lost.gguf")));
    }
    {
        reset();
        DoublePlay play; // the house model generates no images
        CHECK(paint(play)->Images[0].Status == ESottoStatus::Unsupported);
    }
    DoubleTakeLog(ELogVerbosity::Error);
    USottoImageAction* nowhere = USottoImageAction::GenerateImage(nullptr, fox());
    nowhere->Activate();
    CHECK_FALSE(nowhere->IsActive());
    const TArray<FString> errors = DoubleTakeLog(ELogVerbosity::Error);
    REQUIRE(errors.Num() == 1);
    CHECK(errors[0].EndsWith(TEXT("invalid world context: it belongs to no running game")));
}

TEST_CASE("images are cancelled, abandoned, and end with the engine") {
    reset();
    const Scripted model(painter(png(3, 5, 1), {}, 100));
    DoublePlay play;
    REQUIRE(double_run_until([&] { return subsystem(play).IsModelReady(FString()); }));
    USottoImageAction* action = USottoImageAction::GenerateImage(&play.world(), fox());
    const UTestListener* heard = begin(play, action);
    FSottoEngineHost& host = subsystem(play).GetHost();
    TArray<FSottoImage> ended;
    FSottoImageHandlers handlers;
    handlers.Ended.BindLambda([&](const FSottoImage& one) { ended.Add(one); });
    const int64 cancelled = host.GenerateImage(fox(), handlers);
    host.Abandon(host.GenerateImage(fox(), handlers));
    host.Cancel(cancelled);
    action->Cancel();
    REQUIRE(double_run_until([&] { return ended.Num() == 1; }));
    CHECK(ended[0].Status == ESottoStatus::Cancelled);
    CHECK(ended[0].Id == cancelled);
    host.GenerateImage(fox(), handlers);
    double_run_until([&] { return host.Figures().Live == 1; });
    host.Stop(TEXT("the test stops it"), true);
    REQUIRE(double_run_until([&] { return ended.Num() == 2; }));
    CHECK(ended[1].Status == ESottoStatus::Cancelled);
    CHECK(ended[1].Error.Contains(TEXT("the test stops it")));
    CHECK(heard->Images.IsEmpty());
}

TEST_CASE("an image that is being decoded when the engine stops is cancelled") {
    reset();
    const Scripted model(painter(png(3, 5, 1), {}, 0));
    DoublePlay play;
    FSottoEngineHost& host = subsystem(play).GetHost();
    REQUIRE(double_run_until([&] { return subsystem(play).IsModelReady(FString()); }));
    TArray<FSottoImage> ended;
    FSottoImageHandlers handlers;
    handlers.Ended.BindLambda([&](const FSottoImage& one) {
        ended.Add(one);
        if (ended.Num() == 1) {
            host.Stop(TEXT("a handler stops it"), true); // the other image waits for its texture
        }
    });
    host.GenerateImage(fox(), handlers);
    host.GenerateImage(fox(), handlers);
    REQUIRE(double_run_until([&] { return ended.Num() == 2; }));
    CHECK(ended[0].Status == ESottoStatus::Ok);
    CHECK(ended[1].Status == ESottoStatus::Cancelled);
}
