#include "backends/onnx/recipe.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sotto::onnx {
namespace {

constexpr Rgb kImageNetMean = {0.485F, 0.456F, 0.406F};
constexpr Rgb kImageNetStd = {0.229F, 0.224F, 0.225F};

[[noreturn]] void refuse(const char* key, const std::string& value, const char* expected) {
    throw Error(SOTTO_ERROR_MODEL, invalid(std::string("metadata ") + key, value.substr(0, 60), expected));
}

Form guess_form(const Shape& input, const std::string& input_name) {
    constexpr std::uint32_t kU2netSide = 320;
    if (input_name == "input_image" || input_name == "pixel_values") {
        return Form::birefnet;
    }
    return input.height == kU2netSide && input.width == kU2netSide ? Form::u2net : Form::isnet;
}

Recipe recipe_of_form(Form form) {
    switch (form) {
    case Form::u2net: // as its repository's u2net_test.py: RescaleT(320), ToTensorLab(flag=0), normPRED()
        return {form, {320, 320}, kImageNetMean, kImageNetStd, true, false, false, true};
    case Form::birefnet: // as its model card: ImageNet's values, sigmoid of the output
        return {form, {1024, 1024}, kImageNetMean, kImageNetStd, false, true, false, false};
    default: // as DIS's Inference.py and RMBG 1.4's example: mean 0.5, std 1, min-max of the output
        return {form, {1024, 1024}, {0.5F, 0.5F, 0.5F}, {1, 1, 1}, false, false, false, true};
    }
}

std::uint32_t read_side(const std::string& text) {
    constexpr std::uint32_t kMin = 16;
    constexpr std::uint32_t kMax = 4096;
    std::uint32_t side = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), side);
    if (failed != std::errc() || end != text.data() + text.size() || side < kMin || side > kMax) {
        refuse("sotto.size", text, "a side from 16 to 4096");
    }
    return side;
}

void read_values(Recipe& recipe, const Metadata& metadata) {
    const auto read = [](const char* key, const std::optional<std::string>& text, Rgb& values) {
        if (text) {
            const auto found = read_rgb(*text);
            if (!found) {
                refuse(key, *text, "three numbers, such as 0.5,0.5,0.5");
            }
            values = *found;
        }
    };
    if (metadata.mean || metadata.std) { // the model's own preparation
        recipe.by_largest = false;
    }
    read("sotto.mean", metadata.mean, recipe.mean);
    read("sotto.std", metadata.std, recipe.std);
    if (!std::all_of(recipe.std.begin(), recipe.std.end(), [](float one) { return one > 0; })) {
        refuse("sotto.std", *metadata.std, "three numbers above 0");
    }
    if (metadata.size) {
        recipe.size.width = recipe.size.height = read_side(*metadata.size);
    }
}

void read_output_rules(Recipe& recipe, const Options& options, const Metadata& metadata) {
    auto normalise = options.normalise;
    if (normalise == Normalise::automatic && metadata.normalise) {
        const auto found = normalise_of(*metadata.normalise);
        if (!found) {
            refuse("sotto.normalise", *metadata.normalise, R"("auto", "minmax" or "none")");
        }
        normalise = *found;
    }
    if (normalise != Normalise::automatic) {
        recipe.min_max = normalise == Normalise::min_max;
    }
    auto activation = options.activation;
    if (activation == Activation::automatic && metadata.activation) {
        const auto found = activation_of(*metadata.activation);
        if (!found) {
            refuse("sotto.activation", *metadata.activation, R"("auto", "sigmoid" or "none")");
        }
        activation = *found;
    }
    if (activation != Activation::automatic) {
        recipe.sigmoid = activation == Activation::sigmoid;
        recipe.sigmoid_if_logits = false;
    }
}

void set_size(Recipe& recipe, const Options& options, const Shape& input) {
    if (options.size != 0) {
        recipe.size = {options.size, options.size};
        if ((input.height != 0 && input.height != options.size) ||
            (input.width != 0 && input.width != options.size)) {
            const auto fixed = std::to_string(input.width) + " x " + std::to_string(input.height);
            throw invalid_argument(
                "options.size",
                std::to_string(options.size),
                "the model's fixed input size " + fixed + "; remove it"
            );
        }
    }
    recipe.size.height = input.height != 0 ? input.height : recipe.size.height;
    recipe.size.width = input.width != 0 ? input.width : recipe.size.width;
}

} // namespace

Recipe recipe_of(
    const Options& options, const Metadata& metadata, const Shape& input, const std::string& input_name
) {
    auto form = options.form;
    if (form == Form::automatic && metadata.form) {
        const auto found = form_of(*metadata.form);
        if (!found) {
            refuse("sotto.form", *metadata.form, R"("auto", "isnet", "u2net" or "birefnet")");
        }
        form = *found;
    }
    auto recipe = recipe_of_form(form == Form::automatic ? guess_form(input, input_name) : form);
    read_values(recipe, metadata);
    recipe.mean = options.mean.value_or(recipe.mean);
    recipe.std = options.std.value_or(recipe.std);
    set_size(recipe, options, input);
    read_output_rules(recipe, options, metadata);
    return recipe;
}

void finish_mask(const Recipe& recipe, Mask& mask) {
    constexpr float kBeyond = 0.01F; // rounding of a sigmoid in half precision
    auto& values = mask.values;
    for (auto& value : values) {
        value = std::isnan(value) ? 0 : value;
    }
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const bool logits = *least < -kBeyond || *most > 1 + kBeyond;
    if (recipe.sigmoid || (recipe.sigmoid_if_logits && logits)) {
        std::transform(values.begin(), values.end(), values.begin(), [](float x) {
            return 1 / (1 + std::exp(-x));
        });
    }
    if (recipe.min_max) {
        const auto [low, high] = std::minmax_element(values.begin(), values.end());
        const float offset = *low;
        const float range = *high - *low;
        if (range > 0 && std::isfinite(range)) {
            std::transform(values.begin(), values.end(), values.begin(), [&](float x) {
                return (x - offset) / range;
            });
        }
    }
    for (auto& value : values) {
        value = std::clamp(value, 0.0F, 1.0F);
    }
}

} // namespace sotto::onnx
