#include "backends/diffusion/options.hpp"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>
#include <stable-diffusion.h>

#include "image/image.hpp"
#include "runtime/fence.hpp"

namespace sotto::diffusion {
namespace {

using llama::Error;
using llama::invalid_argument;
using Json = nlohmann::json;

constexpr std::uint32_t kMaxThreads = 256;
constexpr float kMaxGuidance = 100;
constexpr std::array<std::pair<const char*, std::string Options::*>, 7> kPaths = {{
    {"diffusion_model", &Options::diffusion_model},
    {"clip_l", &Options::clip_l},
    {"clip_g", &Options::clip_g},
    {"t5xxl", &Options::t5xxl},
    {"llm", &Options::llm},
    {"vae", &Options::vae},
    {"taesd", &Options::taesd},
}};
constexpr std::array<std::pair<const char*, bool Options::*>, 3> kSwitches = {{
    {"from_image", &Options::from_image},
    {"flash_attention", &Options::flash_attention},
    {"tiling", &Options::tiling},
}};

Error invalid_option(const std::string& name, const Json& value, std::string_view expected) {
    constexpr std::size_t kShown = 60;
    const auto text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return invalid_argument("options." + name, text.substr(0, kShown), expected);
}

std::uint32_t read_count(const std::string& name, const Json& value, std::uint32_t min, std::uint32_t max) {
    if (!value.is_number_integer() || value < min || value > max) {
        throw invalid_option(name, value, std::to_string(min) + " to " + std::to_string(max));
    }
    return value.get<std::uint32_t>();
}

std::string read_text(const std::string& name, const Json& value, std::string_view expected) {
    if (!value.is_string() || value.get_ref<const std::string&>().find('\0') != std::string::npos) {
        throw invalid_option(name, value, expected);
    }
    return value.get<std::string>();
}

// Reads a name that stable-diffusion.cpp knows: `name_of` returns that of each value below `count`.
template <typename Value, typename NameOf>
std::string read_known(const std::string& name, const Json& value, Value count, NameOf&& name_of) {
    std::string known;
    for (int i = 0; i < static_cast<int>(count); ++i) {
        const char* one = name_of(static_cast<Value>(i));
        if (one == nullptr) {
            continue;
        }
        if (value == one) {
            return one;
        }
        known += (known.empty() ? "" : ", ") + std::string(one);
    }
    throw invalid_option(name, value, "one of " + known);
}

void read_size(Options& options, const std::string& name, const Json& value) {
    unsigned width = 0;
    unsigned height = 0;
    char rest = 0;
    const bool is_text = value.is_string();
    const auto found =
        is_text
            ? std::sscanf(value.get_ref<const std::string&>().c_str(), "%4ux%4u%c", &width, &height, &rest)
            : 0;
    if (found != 2 || width == 0 || height == 0) {
        throw invalid_option(name, value, "width x height in pixels, such as \"512x768\"");
    }
    options.width = width;
    options.height = height;
}

const char* type_name(sd_type_t type) {
    static constexpr std::array kTypes = {
        SD_TYPE_F32,
        SD_TYPE_F16,
        SD_TYPE_BF16,
        SD_TYPE_Q8_0,
        SD_TYPE_Q5_0,
        SD_TYPE_Q5_1,
        SD_TYPE_Q4_0,
        SD_TYPE_Q4_1,
        SD_TYPE_Q6_K,
        SD_TYPE_Q5_K,
        SD_TYPE_Q4_K,
        SD_TYPE_Q3_K,
        SD_TYPE_Q2_K
    };
    for (const auto one : kTypes) {
        if (one == type) {
            return sd_type_name(type);
        }
    }
    return nullptr;
}

void read_option(Options& options, const std::string& name, const Json& value) {
    for (const auto& [path, member] : kPaths) {
        if (name == path) {
            options.*member = read_text(name, value, "the path of a file");
            return;
        }
    }
    for (const auto& [one, member] : kSwitches) {
        if (name == one) {
            if (!value.is_boolean()) {
                throw invalid_option(name, value, "true or false");
            }
            options.*member = value.get<bool>();
            return;
        }
    }
    if (name == "type") {
        options.type = read_known(name, value, SD_TYPE_COUNT, type_name);
    } else if (name == "sampler") {
        options.sampler = read_known(name, value, SAMPLE_METHOD_COUNT, sd_sample_method_name);
    } else if (name == "scheduler") {
        options.scheduler = read_known(name, value, SCHEDULER_COUNT, sd_scheduler_name);
    } else if (name == "threads") {
        options.threads = read_count(name, value, 1, kMaxThreads);
    } else if (name == "steps") {
        options.steps = read_count(name, value, 1, kMaxSteps);
    } else if (name == "max_pixels") {
        options.max_pixels = read_count(name, value, 1, image::kMaxPixels);
    } else if (name == "size") {
        read_size(options, name, value);
    } else if (name == "guidance_scale") {
        if (!value.is_number() || !(value.get<float>() >= 0 && value.get<float>() <= kMaxGuidance)) {
            throw invalid_option(name, value, "0 to 100");
        }
        options.guidance_scale = value.get<float>();
    } else {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "unknown field options." + name.substr(0, 60) +
                ": expected diffusion_model, clip_l, clip_g, t5xxl, llm, vae, taesd, type, sampler, "
                "scheduler, threads, steps, guidance_scale, size, max_pixels, from_image, flash_attention or "
                "tiling"
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

} // namespace sotto::diffusion
