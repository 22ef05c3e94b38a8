// Small images and sounds, requests that contain them, and models that read them.
#pragma once

#include "module_under_test.hpp"

#include <cmath>
#include <cstdint>
#include <doctest/doctest.h>
#include <string>
#include <vector>

namespace under_test {

inline void append(std::string& bytes, std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) {
        bytes += static_cast<char>(value >> (8 * i) & 0xFF);
    }
}

inline std::string base64(const std::string& bytes) {
    constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t bits = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            bits = bits << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
        }
        for (std::size_t j = 0; j < 4; ++j) {
            text += i + j > bytes.size() ? '=' : kLetters[bits >> (18 - 6 * j) & 63];
        }
    }
    return text;
}

// A BMP with stripes of `colour`.
inline std::string bmp(std::uint32_t width, std::uint32_t height, std::uint32_t colour) {
    std::string pixels;
    for (std::uint32_t y = 0; y < height; ++y) {
        for (std::uint32_t x = 0; x < width; ++x) {
            append(pixels, (x / 3 + y / 5) % 2 == 0 ? colour : ~colour, 3);
        }
        pixels.resize((pixels.size() + 3) / 4 * 4);
    }
    std::string file = "BM";
    append(file, 54 + pixels.size(), 4);
    append(file, 0, 4);
    append(file, 54, 4);
    append(file, 40, 4);
    append(file, width, 4);
    append(file, height, 4);
    append(file, 1, 2);
    append(file, 24, 2);
    append(file, 0, 4);
    append(file, pixels.size(), 4);
    file.resize(54);
    return file + pixels;
}

// A WAV of one tone.
inline std::string wav(std::uint32_t samples, double tone, std::uint32_t rate = 16000) {
    std::string file = "RIFF";
    append(file, 36 + 2 * samples, 4);
    file += "WAVEfmt ";
    append(file, 16, 4);
    append(file, 1, 2);
    append(file, 1, 2);
    append(file, rate, 4);
    append(file, 2 * rate, 4);
    append(file, 2, 2);
    append(file, 16, 2);
    file += "data";
    append(file, 2 * samples, 4);
    for (std::uint32_t i = 0; i < samples; ++i) {
        const auto now = std::sin(6.283185307 * tone * i / rate) * 9000;
        append(file, static_cast<std::uint16_t>(static_cast<std::int16_t>(now)), 2);
    }
    return file;
}

inline std::string image_part(const std::string& url) {
    return R"({"type": "image_url", "image_url": {"url": ")" + url + "\"}}";
}

inline std::string image(const std::string& file) {
    return image_part("data:image/bmp;base64," + base64(file));
}

inline std::string sound(const std::string& file) {
    return R"({"type": "input_audio", "input_audio": {"data": ")" + base64(file) + R"(", "format": "wav"}})";
}

inline std::string text_part(const std::string& text) {
    return R"({"type": "text", "text": ")" + text + "\"}";
}

inline std::string message(const std::vector<std::string>& parts, const std::string& role = "user") {
    std::string all;
    for (const auto& part : parts) {
        all += (all.empty() ? "" : ", ") + part;
    }
    return R"({"role": ")" + role + R"(", "content": [)" + all + "]}";
}

inline std::string
conversation(const std::vector<std::string>& messages, const std::string& more = R"("temperature": 0)") {
    std::string all;
    for (const auto& one : messages) {
        all += (all.empty() ? "" : ", ") + one;
    }
    return R"({"messages": [)" + all + "], " + more + "}";
}

constexpr std::uint32_t kTokens = 12;
constexpr std::uint32_t kImageTokens = 16;

inline std::string projector(const std::string& name) {
    return tiny(("../projectors/" + name).c_str());
}

inline Source
seeing(const char* model = "tiny.gguf", const char* eyes = "eyes.gguf", const std::string& more = "") {
    return {.path = tiny(model), .options = R"({"projector": ")" + projector(eyes) + "\"" + more + "}"};
}

// A model that positions an image's tokens by rows and columns.
inline Source seeing_rows(const std::string& more = "") {
    auto source = seeing("", "eyes-rows.gguf", more);
    source.path = projector("tiny-rows.gguf");
    return source;
}

inline const std::string kRed = image(bmp(40, 30, 0x2030F0));
inline const std::string kGreen = image(bmp(40, 30, 0x20F030));
inline const std::string kQuestion = text_part("what is the song of the moon");

inline std::string shown(const std::string& part, const std::string& more = R"("temperature": 0)") {
    return conversation({message({part, kQuestion})}, more);
}

inline std::string answer_to(Model& model, const std::string& body, std::uint32_t per_step = 512) {
    Stream stream(model, body);
    REQUIRE_MESSAGE(stream.handle != nullptr, stream.answer.why);
    stream.run(kTokens, per_step);
    REQUIRE_MESSAGE(stream.answer.status == SOTTO_OK, stream.answer.why);
    return stream.answer.text;
}

inline std::string
refusal(Model& model, const std::string& body, sotto_status status = SOTTO_ERROR_ARGUMENT) {
    Stream stream(model, body);
    CHECK(stream.answer.status == status);
    return stream.answer.why;
}

} // namespace under_test
