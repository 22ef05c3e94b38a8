// How a model wants its image, and what its output means.
#pragma once

#include <optional>
#include <string>

#include "backends/onnx/options.hpp"
#include "backends/onnx/session.hpp"

namespace sotto::onnx {

// Preparation of the image: (pixel / 255 - mean) / std, or / the image's largest value instead of 255.
struct Recipe {
    Form form = Form::isnet;
    Shape size;
    Rgb mean{};
    Rgb std{};
    bool by_largest = false;
    bool sigmoid_if_logits = false; // output outside of 0 to 1: logits
    bool sigmoid = false;
    bool min_max = true; // stretch the output to 0 to 1
};

// Values of the model's metadata that matter here; nullopt: not stated.
struct Metadata {
    std::optional<std::string> mean{};       // sotto.mean
    std::optional<std::string> std{};        // sotto.std
    std::optional<std::string> size{};       // sotto.size
    std::optional<std::string> form{};       // sotto.form
    std::optional<std::string> normalise{};  // sotto.normalise
    std::optional<std::string> activation{}; // sotto.activation
};

// Options take precedence over metadata, and metadata over what the model's form has. The form, if nothing
// states it: birefnet if the input is called as in BiRefNet's exports, u2net if it has a side of 320, else
// isnet, which RMBG 1.4 and models with metadata share. Throws Error: SOTTO_ERROR_MODEL for metadata that
// cannot be read, SOTTO_ERROR_ARGUMENT for an option `size` that the model does not have.
Recipe recipe_of(
    const Options& options, const Metadata& metadata, const Shape& input, const std::string& input_name
);

// Applies sigmoid and normalisation to a model's output, in place; NaN becomes 0. The result is 0 to 1.
void finish_mask(const Recipe& recipe, Mask& mask);

} // namespace sotto::onnx
