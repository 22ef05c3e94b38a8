// Checks the bodies of image operations: generation, and removal of backgrounds.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "core/codec/checks.hpp"
#include "request/fields.hpp"

namespace sotto {
namespace {

constexpr std::size_t kMaxPrompt = 65'536; // bytes
constexpr std::uint32_t kMaxImages = 16;

// Reads a side of `size` and the text after it. Returns 0 if there is no number of at most 4 digits.
std::uint32_t take_side(std::string_view& text) {
    std::uint32_t side = 0;
    std::size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && digits < 4; ++digits) {
        side = side * 10 + static_cast<std::uint32_t>(text[digits] - '0');
    }
    text.remove_prefix(digits);
    return side;
}

bool is_size(std::string_view text) {
    constexpr std::uint32_t kMinSide = 16;
    constexpr std::uint32_t kMaxSide = 8192;
    constexpr std::uint32_t kMaxPixels = 1 << 24;
    const auto width = take_side(text);
    if (text.empty() || text.front() != 'x') {
        return false;
    }
    text.remove_prefix(1);
    const auto height = take_side(text);
    const auto fits = [](std::uint32_t side) { return side >= kMinSide && side <= kMaxSide; };
    return text.empty() && fits(width) && fits(height) && width * height <= kMaxPixels;
}

void check_size(const Fields& body) {
    const Json* size = body.find(field::size);
    if (size == nullptr) {
        return;
    }
    const auto* text = size->get_ptr<const std::string*>();
    if (text == nullptr || (*text != "auto" && !is_size(*text))) {
        body.refuse(
            field::size,
            *size,
            "width x height, such as \"512x768\", each from 16 to 8,192 and together at most 16,777,216 "
            "pixels, or \"auto\""
        );
    }
}

void check_image_prompt(const Fields& body) {
    const Json& prompt = body.require(field::prompt, "a string that is not empty");
    const auto* text = prompt.get_ptr<const std::string*>();
    if (text == nullptr || text->empty()) {
        body.refuse(field::prompt, prompt, "a string that is not empty");
    }
    if (text->size() > kMaxPrompt) {
        throw invalid_argument(
            field::prompt.name, std::to_string(text->size()) + " bytes", "at most 65,536 bytes"
        );
    }
}

void check_start(const Fields& body) {
    if (body.find(field::image) != nullptr) {
        return;
    }
    for (const char* key : {field::mask.name, field::strength.name}) {
        if (const Json* value = body.find(key); value != nullptr) {
            body.refuse(
                key, *value, "a field `image` beside it; add the image to start from, or remove the field"
            );
        }
    }
}

void check_background(const Fields& body) {
    const Json* background = body.find(field::background);
    if (background != nullptr && *background != "auto" && *background != "opaque") {
        body.refuse(
            field::background,
            *background,
            "\"auto\" or \"opaque\"; remove the background of the image with the operation image_matte"
        );
    }
}

} // namespace

void check_image(sotto_op op, const Fields& body) {
    const Json* format = body.find(field::response_format);
    if (format != nullptr && *format != "b64_json" && *format != "data") {
        body.refuse(field::response_format, *format, "\"b64_json\" or \"data\"");
    }
    if (op == SOTTO_OP_IMAGE_MATTE) {
        body.require(field::image, "a PNG, JPEG or WebP file in base64, or as a data URL");
        return;
    }
    check_image_prompt(body);
    check_size(body);
    check_start(body);
    check_background(body);
    body.integer(field::n.name, 1, kMaxImages);
}

} // namespace sotto
