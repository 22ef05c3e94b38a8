// Image files: decoded, encoded, limited, mutated.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "abi/error.hpp"
#include "image/base64_text.hpp"
#include "image/decode.hpp"
#include "image/encode.hpp"
#include "image/parts.hpp"
#include "image_files.hpp"

using namespace sotto;
using namespace sotto::image;

namespace {

const GoesOn kAlways = [] { return true; };
constexpr std::uint32_t kWidth = 12;
constexpr std::uint32_t kHeight = 8;
constexpr std::array kFiles = {
    test::kJpegTurned,
    test::kJpegProgressive,
    test::kJpegGrey,
    test::kWebpLossy,
    test::kWebpAnimated,
    test::kPngPalette,
    test::kPng16
};

std::string file_of(const char* text) {
    return read_base64_text(text, "image");
}

Image noise(std::uint32_t width, std::uint32_t height) {
    std::mt19937 random(width * 31 + height);
    Image image{width, height, {}};
    image.pixels.resize(image.count() * kRgba);
    for (auto& value : image.pixels) {
        value = static_cast<std::uint8_t>(random() % 256);
    }
    return image;
}

Pixels pixels_of(const Image& image) {
    return {image.pixels.data(), image.width, image.height, kRgba};
}

std::string refusal(const auto& body) {
    try {
        body();
    } catch (const Error& error) {
        CHECK(error.status() == SOTTO_ERROR_ARGUMENT);
        return error.what();
    }
    return "nothing was refused";
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// Writes the checksums that the chunks of a PNG file should have, so that a mutant gets past them.
void mend_checksums(std::string& file) {
    constexpr std::size_t kMark = 8;
    const auto big_endian = [&](std::size_t at) {
        std::size_t value = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            value = value << 8 | static_cast<std::uint8_t>(file[at + i]);
        }
        return value;
    };
    for (auto at = kMark; at + 12 <= file.size();) {
        const auto end = at + 8 + big_endian(at);
        if (end + 4 > file.size()) {
            return;
        }
        std::uint32_t sum = 0xffffffff;
        for (auto i = at + 4; i < end; ++i) {
            sum ^= static_cast<std::uint8_t>(file[i]);
            for (int bit = 0; bit < 8; ++bit) {
                sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
            }
        }
        for (int i = 0; i < 4; ++i) {
            file[end + static_cast<std::size_t>(i)] = static_cast<char>(~sum >> (24 - 8 * i));
        }
        at = end + 4;
    }
}

// The red and the green of the gradient that the files show.
std::array<int, 2> expected_at(std::uint32_t x, std::uint32_t y) {
    return {static_cast<int>(x * 255 / (kWidth - 1)), static_cast<int>(y * 255 / (kHeight - 1))};
}

int worst_difference(const Image& image) {
    REQUIRE(image.width == kWidth);
    REQUIRE(image.height == kHeight);
    int worst = 0;
    for (std::uint32_t y = 0; y < kHeight; ++y) {
        for (std::uint32_t x = 0; x < kWidth; ++x) {
            const auto* pixel = image.row(y) + std::size_t{x} * kRgba;
            const auto [red, green] = expected_at(x, y);
            worst = std::max({worst, std::abs(pixel[0] - red), std::abs(pixel[1] - green)});
        }
    }
    return worst;
}

} // namespace

TEST_CASE("PNG and lossless WebP keep every pixel, of any size") {
    for (const std::uint32_t side : {1U, 2U, 3U, 17U, 64U, 255U}) {
        const auto image = noise(side, 1 + side / 2);
        for (const auto& file :
             {encode_png(pixels_of(image), kAlways), encode_webp(pixels_of(image), 100, kAlways)}) {
            REQUIRE(file);
            const auto again = decode(*file, "image");
            CHECK(again.width == image.width);
            CHECK(again.height == image.height);
            CHECK(again.pixels == image.pixels);
        }
    }
}

TEST_CASE("a smooth image compresses: filters of PNG are chosen by row") {
    Image image{256, 256, {}};
    image.pixels.resize(image.count() * kRgba);
    for (std::size_t i = 0; i < image.pixels.size(); ++i) {
        image.pixels[i] = static_cast<std::uint8_t>(i / kRgba % 256 + i / (kRgba * 256));
    }
    CHECK(encode_png(pixels_of(image), kAlways)->size() < image.pixels.size() / 50);
}

TEST_CASE("greyscale is encoded as such") {
    const auto image = noise(33, 9);
    const Pixels grey{image.pixels.data(), 33, 9, 1};
    for (const auto& file : {encode_png(grey, kAlways), encode_webp(grey, 100, kAlways)}) {
        const auto again = decode(file.value(), "image");
        for (std::size_t i = 0; i < again.count(); ++i) {
            const auto* pixel = again.pixels.data() + i * kRgba;
            REQUIRE(pixel[0] == image.pixels[i]);
            REQUIRE(pixel[1] == image.pixels[i]);
            REQUIRE(pixel[2] == image.pixels[i]);
            REQUIRE(pixel[3] == 255);
        }
    }
}

TEST_CASE("lossy WebP is smaller") {
    const auto image = noise(64, 64);
    CHECK(
        encode_webp(pixels_of(image), 30, kAlways)->size() <
        encode_webp(pixels_of(image), 100, kAlways)->size() / 2
    );
}

TEST_CASE("an encoder stops between rows") {
    const auto image = noise(512, 512);
    int calls = 0;
    const GoesOn twice = [&] { return ++calls < 3; };
    CHECK_FALSE(encode_png(pixels_of(image), twice));
    CHECK(calls == 3);
    CHECK_FALSE(encode_webp(pixels_of(image), 100, [] { return false; }));
}

TEST_CASE("WebP has no sides above 16,383 pixels") {
    const auto image = noise(16'384, 1);
    CHECK(contains(
        refusal([&] { encode_webp(pixels_of(image), 100, kAlways); }), "invalid output_format 'webp'"
    ));
    CHECK(encode_png(pixels_of(image), kAlways));
}

TEST_CASE("16 bits per channel become 8, and an animation its first frame") {
    CHECK(worst_difference(decode(file_of(test::kPng16), "image")) == 0);
    CHECK(worst_difference(decode(file_of(test::kWebpAnimated), "image")) == 0);
}

TEST_CASE("palettes, greyscale, progressive JPEG and alpha are decoded") {
    const auto palette = decode(file_of(test::kPngPalette), "image");
    const auto transparent = [](const Image& image) {
        std::size_t count = 0;
        for (std::size_t i = 3; i < image.pixels.size(); i += kRgba) {
            count += image.pixels[i] == 0 ? 1 : 0;
        }
        return count;
    };
    CHECK(transparent(palette) > 0);
    CHECK(transparent(palette) < palette.count());
    const auto grey = decode(file_of(test::kJpegGrey), "image");
    CHECK(grey.pixels[0] == grey.pixels[1]);
    CHECK(worst_difference(decode(file_of(test::kJpegProgressive), "image")) < 80);
    const auto lossy = decode(file_of(test::kWebpLossy), "image");
    CHECK(lossy.pixels[3] == 0);
    CHECK(lossy.row(0)[11 * kRgba + 3] == 255);
}

TEST_CASE("a JPEG file is turned as its EXIF orientation says") {
    const auto file = file_of(test::kJpegTurned);
    REQUIRE(jpeg_orientation(file) == 6);
    const auto image = decode(file, "image"); // a quarter turn clockwise
    REQUIRE(image.width == kHeight);
    REQUIRE(image.height == kWidth);
    for (std::uint32_t y = 0; y < kWidth; ++y) {
        for (std::uint32_t x = 0; x < kHeight; ++x) {
            const auto [red, green] = expected_at(y, kHeight - 1 - x);
            const auto* pixel = image.row(y) + std::size_t{x} * kRgba;
            REQUIRE(std::abs(pixel[0] - red) < 30);
            REQUIRE(std::abs(pixel[1] - green) < 30);
        }
    }
}

TEST_CASE("each EXIF orientation is undone by the one that turns back") {
    constexpr std::array kBack = {1, 2, 3, 4, 5, 8, 7, 6};
    const auto original = noise(5, 3);
    for (int orientation = 1; orientation <= 8; ++orientation) {
        auto image = original;
        apply_orientation(image, orientation);
        CHECK(image.width == (orientation >= 5 ? 3 : 5));
        CHECK((image.pixels == original.pixels) == (orientation == 1));
        apply_orientation(image, kBack[static_cast<std::size_t>(orientation - 1)]);
        CHECK(image.pixels == original.pixels);
    }
}

TEST_CASE("limits are checked from the header, before pixels are decoded") {
    const auto file = *encode_png(pixels_of(noise(64, 32)), kAlways);
    CHECK(contains(refusal([&] { decode(file, "image", 2'047); }), "64 x 32 pixels"));
    CHECK(decode(file, "image", 2'048).count() == 2'048);
    const auto why = refusal([] { decode(file_of(test::kPngBomb), "image"); }); // 100 megapixels in 100 bytes
    CHECK_MESSAGE(contains(why, "10000 x 10000 pixels"), why);
    CHECK(contains(refusal([] { decode(std::string(kMaxFileBytes + 1, 'a'), "image"); }), "33554433 bytes"));
}

TEST_CASE("what is no image is refused with the way out") {
    for (const std::string file :
         {"", "GIF89a", "\x89PNG", "RIFF", "RIFF1234WEBP", "\xff\xd8\xff", "<svg/>"}) {
        const auto why = refusal([&] { decode(file, "image"); });
        CHECK_MESSAGE(contains(why, "expected a PNG, JPEG or WebP file"), why);
    }
}

TEST_CASE("base64 and data URLs") {
    CHECK(read_base64_text("aGk=", "image") == "hi");
    CHECK(read_base64_text("data:image/png;base64,aGk=", "image") == "hi");
    CHECK(to_base64("hi") == "aGk=");
    for (const char* text :
         {"", "!!!!", "data:image/png,aGk=", "data:", "data:;base64,", "https://a.b/c.png"}) {
        CHECK(contains(refusal([&] { read_base64_text(text, "image"); }), "invalid image"));
    }
    CHECK(
        contains(refusal([] { read_base64_text(std::string(45'000'000, 'A'), "image"); }), "bytes of base64")
    );
}

TEST_CASE("truncated files are refused or decoded, and nothing else happens") {
    for (const char* text : kFiles) {
        const auto file = file_of(text);
        for (std::size_t size = 0; size < file.size(); ++size) {
            try {
                decode(std::string_view(file).substr(0, size), "image");
            } catch (const Error& error) {
                CHECK(error.status() == SOTTO_ERROR_ARGUMENT);
            }
        }
    }
}

TEST_CASE("mutated files are refused or decoded, and nothing else happens") {
    const char* wanted = std::getenv("SOTTO_TEST_MUTANTS");
    const int mutants = wanted != nullptr ? std::atoi(wanted) : 700; // of each file
    constexpr std::uint32_t kPixels = 1 << 16;
    std::mt19937 random(29);
    for (const char* text : kFiles) {
        const auto original = file_of(text);
        for (int i = 0; i < mutants; ++i) {
            auto file = original;
            const auto changes = 1 + random() % 6;
            for (std::uint32_t change = 0; change < changes; ++change) {
                const auto at = random() % file.size();
                file[at] = static_cast<char>(random() % 2 == 0 ? random() : file[at] ^ 1 << random() % 8);
            }
            if (file.starts_with("\x89PNG")) {
                mend_checksums(file);
            }
            try {
                const auto image = decode(file, "image", kPixels);
                REQUIRE(image.pixels.size() == image.count() * kRgba);
            } catch (const Error& error) {
                REQUIRE(error.status() == SOTTO_ERROR_ARGUMENT);
            }
        }
    }
}
