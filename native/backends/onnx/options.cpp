#include "backends/onnx/options.hpp"

#include <cmath>

namespace sotto::onnx {
namespace {

constexpr std::uint32_t kMaxThreads = 256;
constexpr std::uint32_t kMinSide = 16;
constexpr std::uint32_t kMaxSide = 4096;
constexpr std::uint32_t kMaxPixels = std::uint32_t{1} << 24;
constexpr const char* kNames = "library, threads, size, max_pixels, form, normalise, activation, mean or std";

Error invalid_option(const std::string& name, const Json& value, std::string_view expected) {
    constexpr std::size_t kShown = 60;
    const auto text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return invalid_argument("options." + name, text.substr(0, kShown), expected);
}

std::uint32_t read_count(const std::string& name, const Json& value, std::uint32_t min, std::uint32_t max) {
    const bool whole = value.is_number_integer() && value >= min && value <= max;
    if (!whole) {
        throw invalid_option(name, value, std::to_string(min) + " to " + std::to_string(max));
    }
    return value.get<std::uint32_t>();
}

Rgb read_numbers(const std::string& name, const Json& value) {
    const auto found = value.is_array() ? read_rgb(value.dump()) : std::nullopt;
    if (!found) {
        throw invalid_option(name, value, "three numbers, such as [0.5, 0.5, 0.5]");
    }
    if (name == "std") {
        for (const float one : *found) {
            if (!(one > 0)) {
                throw invalid_option(name, value, "three numbers above 0");
            }
        }
    }
    return *found;
}

// `read`: returns nullopt for names that it does not know.
template <typename Read>
auto read_name(const std::string& name, const Json& value, Read&& read, std::string_view expected) {
    const auto found = value.is_string() ? read(value.get_ref<const std::string&>()) : decltype(read("")){};
    if (!found) {
        throw invalid_option(name, value, expected);
    }
    return *found;
}

void read_option(Options& options, const std::string& name, const Json& value) {
    if (name == "library") {
        if (!value.is_string() || value.get_ref<const std::string&>().find('\0') != std::string::npos) {
            throw invalid_option(name, value, "the path of ONNX Runtime's library");
        }
        options.library = value.get<std::string>();
    } else if (name == "threads") {
        options.threads = read_count(name, value, 1, kMaxThreads);
    } else if (name == "size") {
        options.size = read_count(name, value, kMinSide, kMaxSide);
    } else if (name == "max_pixels") {
        options.max_pixels = read_count(name, value, 1, kMaxPixels);
    } else if (name == "form") {
        options.form = read_name(name, value, form_of, R"("auto", "isnet", "u2net" or "birefnet")");
    } else if (name == "normalise") {
        options.normalise = read_name(name, value, normalise_of, R"("auto", "minmax" or "none")");
    } else if (name == "activation") {
        options.activation = read_name(name, value, activation_of, R"("auto", "sigmoid" or "none")");
    } else if (name == "mean") {
        options.mean = read_numbers(name, value);
    } else if (name == "std") {
        options.std = read_numbers(name, value);
    } else {
        throw Error(
            SOTTO_ERROR_ARGUMENT, "unknown field options." + name.substr(0, 60) + ": expected " + kNames
        );
    }
}

} // namespace

Options read_options(std::string_view text) {
    Options options;
    if (text.empty()) {
        return options;
    }
    const auto given = Json::parse(text, nullptr, false);
    if (!given.is_object()) {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid options: expected a JSON object");
    }
    for (const auto& [name, value] : given.items()) {
        if (!value.is_null()) {
            read_option(options, name, value);
        }
    }
    return options;
}

std::optional<Rgb> read_rgb(std::string_view text) {
    const auto list = text.starts_with('[') ? std::string(text) : "[" + std::string(text) + "]";
    const auto values = Json::parse(list, nullptr, false);
    Rgb found{};
    if (!values.is_array() || values.size() != found.size()) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        found[i] = values[i].is_number() ? values[i].get<float>() : NAN;
        if (!std::isfinite(found[i])) {
            return std::nullopt;
        }
    }
    return found;
}

std::optional<Form> form_of(std::string_view name) {
    for (const auto form : {Form::automatic, Form::isnet, Form::u2net, Form::birefnet}) {
        if (name == name_of(form)) {
            return form;
        }
    }
    return std::nullopt;
}

std::optional<Normalise> normalise_of(std::string_view name) {
    return name == "auto"     ? std::optional(Normalise::automatic)
           : name == "minmax" ? std::optional(Normalise::min_max)
           : name == "none"   ? std::optional(Normalise::none)
                              : std::nullopt;
}

std::optional<Activation> activation_of(std::string_view name) {
    return name == "auto"      ? std::optional(Activation::automatic)
           : name == "sigmoid" ? std::optional(Activation::sigmoid)
           : name == "none"    ? std::optional(Activation::none)
                               : std::nullopt;
}

const char* name_of(Form form) noexcept {
    switch (form) {
    case Form::isnet:
        return "isnet";
    case Form::u2net:
        return "u2net";
    case Form::birefnet:
        return "birefnet";
    default:
        return "auto";
    }
}

} // namespace sotto::onnx
