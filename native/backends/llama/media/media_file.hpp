// Images and sounds as people send them, made into pixels and samples.
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
    std::vector<unsigned char> pixels; // red, green, blue
};

// All of these throw Error(SOTTO_ERROR_ARGUMENT) that begins with `path`, the place in the request.

// The bytes of a data URL.
std::string read_data_url(std::string_view url, const std::string& path);
std::string read_base64(std::string_view text, const std::string& path);

// A PNG, JPEG, BMP or GIF; of one that moves, the first image. Its size is looked at before it is unpacked.
Picture read_picture(const std::string& file, const std::string& path);

// A WAV, MP3 or FLAC, mixed down to one channel of `rate` samples a second.
std::vector<float> read_sound(const std::string& file, std::uint32_t rate, const std::string& path);

} // namespace sotto::llama
