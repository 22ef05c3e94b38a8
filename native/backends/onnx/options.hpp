// Load options of a model of this backend.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <sotto/base.h>

#include "abi/error.hpp"

namespace sotto::onnx {

using Json = nlohmann::ordered_json;
using Rgb = std::array<float, 3>;

// Known families of segmentation models; they differ in the preparation of the image.
enum class Form : std::uint8_t { automatic, isnet, u2net, birefnet };
enum class Normalise : std::uint8_t { automatic, min_max, none };
enum class Activation : std::uint8_t { automatic, sigmoid, none };

struct Options {
    std::string library; // path of ONNX Runtime's library; empty: looked for
    std::uint32_t threads = 0;
    std::uint32_t size = 0; // side of a model's input of dynamic size; 0: as the form has it
    std::uint32_t max_pixels = std::uint32_t{1} << 21; // 1080p; memory for such an image is charged
    Form form = Form::automatic;
    Normalise normalise = Normalise::automatic;
    Activation activation = Activation::automatic;
    std::optional<Rgb> mean;
    std::optional<Rgb> std;
};

// Reads and checks load options, a JSON object or nothing. Throws Error(SOTTO_ERROR_ARGUMENT).
Options read_options(std::string_view text);

// Reads three finite numbers, as "0.5,0.5,0.5" or "[0.5, 0.5, 0.5]". nullopt: other text.
std::optional<Rgb> read_rgb(std::string_view text);

// The enumerators by the names that options and metadata have for them. nullopt: another name.
std::optional<Form> form_of(std::string_view name);
std::optional<Normalise> normalise_of(std::string_view name);
std::optional<Activation> activation_of(std::string_view name);
const char* name_of(Form form) noexcept;

} // namespace sotto::onnx
