#include "image/base64_text.hpp"

#include <base64.hpp>

#include "abi/error.hpp"
#include "image/image.hpp"

namespace sotto::image {
namespace {

// Shortens text from a request for an error message.
std::string beginning(std::string_view text) {
    constexpr std::size_t kShown = 24;
    return text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "...";
}

} // namespace

std::string read_base64_text(std::string_view text, const std::string& place) {
    constexpr std::string_view kForm = "base64 data, or a data URL like \"data:image/png;base64,...\"";
    constexpr std::size_t kMaxText = kMaxFileBytes / 3 * 4 + 4;
    auto data = text;
    if (text.starts_with("data:")) {
        const auto comma = text.find(',');
        if (comma == std::string_view::npos || !text.substr(0, comma).ends_with(";base64")) {
            throw invalid_argument(place, beginning(text), kForm);
        }
        data = text.substr(comma + 1);
    }
    if (data.size() > kMaxText) {
        const auto size = std::to_string(data.size()) + " bytes of base64";
        throw invalid_argument(place, size, "a file of at most 33,554,432 bytes");
    }
    try {
        if (auto bytes = base64::decode(data.data(), data.size()); !bytes.empty()) {
            return bytes;
        }
    } catch (const base64_error&) { // as below
    }
    throw invalid_argument(place, beginning(text), kForm);
}

std::string to_base64(std::string_view bytes) {
    return base64::encode(bytes.data(), bytes.size());
}

} // namespace sotto::image
