// Image files as text of a request: base64 and data URLs.
#pragma once

#include <string>
#include <string_view>

namespace sotto::image {

// Decodes base64, or a data URL like "data:image/png;base64,...". `place`: name of the request's field.
// Throws Error(SOTTO_ERROR_ARGUMENT) if the text is neither, or stands for more than kMaxFileBytes.
std::string read_base64_text(std::string_view text, const std::string& place);

std::string to_base64(std::string_view bytes);

} // namespace sotto::image
