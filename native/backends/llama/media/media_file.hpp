// Decodes image and sound files into pixels and samples.
#pragma once

#include "runtime/fence.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::llama {

struct Picture {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::vector<unsigned char> pixels; // RGB
};

// The functions below throw Error(SOTTO_ERROR_ARGUMENT) for invalid input. The error text begins with `path`,
// the JSON path of the input in the request.

// Decodes a data URL.
std::string read_data_url(std::string_view url, const std::string& path);
std::string read_base64(std::string_view text, const std::string& path);

// Decodes a PNG, JPEG, BMP or GIF (first frame). Checks the dimensions before decompressing.
Picture read_picture(const std::string& file, const std::string& path);

// Decodes a WAV, MP3 or FLAC, mixed down to mono at `rate` samples per second.
std::vector<float> read_sound(const std::string& file, std::uint32_t rate, const std::string& path);

} // namespace sotto::llama
