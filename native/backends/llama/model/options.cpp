// Options that a host can set when it opens a model.
#include "model/options.hpp"

#include "runtime/json_parts.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

constexpr std::uint32_t kLeastContext = 16;
constexpr std::uint32_t kMostParallel = 64;
constexpr std::uint32_t kMostBatch = 4096;
constexpr std::uint32_t kMostLayers = 1 << 16;
constexpr std::uint32_t kLeastImageTokens = 64;
constexpr std::uint32_t kMostImageTokens = 1 << 14;

[[noreturn]] void refuse(const std::string& option, const Json& value, const std::string& allowed) {
    const auto text = value.is_string() ? value.get<std::string>() : text_of(value);
    throw invalid_argument("options." + option, text, allowed);
}

std::uint32_t whole(const std::string& option, const Json& value, std::uint32_t least, std::uint32_t most) {
    const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() >= least &&
                      value.get<std::uint64_t>() <= most;
    if (!fits) {
        refuse(option, value, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value.get<std::uint32_t>();
}

bool truth(const std::string& option, const Json& value) {
    if (!value.is_boolean()) {
        refuse(option, value, "true or false");
    }
    return value.get<bool>();
}

std::string text(const std::string& option, const Json& value) {
    if (!value.is_string()) {
        refuse(option, value, "a string");
    }
    return value.get<std::string>();
}

Options::FlashAttention flash_attention(const std::string& option, const Json& value) {
    if (value == "auto") {
        return Options::FlashAttention::Auto;
    }
    if (value == "on") {
        return Options::FlashAttention::On;
    }
    if (value == "off") {
        return Options::FlashAttention::Off;
    }
    refuse(option, value, "\"auto\", \"on\" or \"off\"");
}

Options::KvType kv_type(const std::string& option, const Json& value) {
    if (value == "f16") {
        return Options::KvType::F16;
    }
    if (value == "q8_0") {
        return Options::KvType::Q8_0;
    }
    refuse(option, value, "\"f16\" or \"q8_0\"");
}

Options::Speculative speculative(const std::string& option, const Json& value) {
    if (value == "off") {
        return Options::Speculative::Off;
    }
    if (value == "lookup") {
        return Options::Speculative::Lookup;
    }
    refuse(option, value, "\"off\" or \"lookup\"");
}

Options::Pooling pooling(const std::string& option, const Json& value) {
    constexpr std::pair<const char*, Options::Pooling> kKnown[] = {
        {"mean", Options::Pooling::Mean},
        {"cls", Options::Pooling::Cls},
        {"last", Options::Pooling::Last},
        {"rank", Options::Pooling::Rank},
    };
    for (const auto& [name, known] : kKnown) {
        if (value == name) {
            return known;
        }
    }
    refuse(option, value, "\"mean\", \"cls\", \"last\" or \"rank\"");
}

void read_option(
    Options& options, const std::string& option, const Json& value, std::uint32_t trained_context
) {
    if (option == "context") {
        options.context = whole(option, value, kLeastContext, trained_context);
    } else if (option == "min_context") {
        options.min_context = whole(option, value, kLeastContext, trained_context);
    } else if (option == "parallel") {
        options.parallel = whole(option, value, 1, kMostParallel);
    } else if (option == "batch") {
        options.batch = whole(option, value, 1, kMostBatch);
    } else if (option == "gpu_layers") {
        options.gpu_layers = whole(option, value, 0, kMostLayers);
    } else if (option == "mmap") {
        options.mmap = truth(option, value);
    } else if (option == "flash_attention") {
        options.flash_attention = flash_attention(option, value);
    } else if (option == "kv_type") {
        options.kv_type = kv_type(option, value);
    } else if (option == "speculative") {
        options.speculative = speculative(option, value);
    } else if (option == "draft") {
        options.draft = text(option, value);
    } else if (option == "chat_template") {
        options.chat_template = text(option, value);
    } else if (option == "projector") {
        options.projector = text(option, value);
    } else if (option == "image_tokens") {
        options.image_tokens = whole(option, value, kLeastImageTokens, kMostImageTokens);
    } else if (option == "pooling") {
        options.pooling = pooling(option, value);
    } else {
        throw invalid_argument(
            "option",
            option,
            "context, parallel, batch, mmap, flash_attention, kv_type, min_context, speculative, draft, "
            "chat_template, projector, image_tokens, pooling or gpu_layers"
        );
    }
}

Json parse(std::string_view json) {
    if (json.empty()) {
        return Json::object();
    }
    auto parsed = try_parse_json(json);
    if (!parsed.is_object()) {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid options: expected a JSON object");
    }
    return parsed;
}

void check(const Options& options) {
    if (options.batch < options.parallel) {
        refuse("batch", options.batch, "at least \"parallel\", " + std::to_string(options.parallel));
    }
    if (options.kv_type == Options::KvType::Q8_0 && options.flash_attention == Options::FlashAttention::Off) {
        refuse("kv_type", "q8_0", "\"f16\" where \"flash_attention\" is \"off\"");
    }
    if (options.min_context > options.context) {
        refuse("min_context", options.min_context, "at most \"context\", " + std::to_string(options.context));
    }
}

// Shrinks options that the host left open if `source` requests less memory. Sets `shrinkable`. `asked`: the
// options that the host set.
void save_memory(Options& options, const Json& asked, const sotto_model_source& source) {
    const auto limit = [](std::uint32_t& value, std::uint32_t most, std::uint32_t least) {
        value = most == 0 ? value : std::min(value, std::max(most, least));
    };
    options.places = source.streams == 0 ? options.parallel : std::min(options.parallel, source.streams);
    limit(options.context, source.tokens, options.min_context);
    limit(options.gpu_layers, asked.contains("gpu_layers") ? 0 : source.layers, 1);
    const bool own = (source.flags & SOTTO_SOURCE_OWN_MEMORY) != 0;
    options.mmap = options.mmap && (!own || asked.contains("mmap"));
    const bool any_kv = !asked.contains("kv_type") && options.flash_attention != Options::FlashAttention::Off;
    options.small_kv = any_kv && (source.flags & SOTTO_SOURCE_SMALL_KV) != 0;
    const auto give = [&](bool there, sotto_model_shrinkable what) {
        options.shrinkable |= there ? what : 0u;
    };
    give(!asked.contains("parallel") && options.places > 1, SOTTO_SHRINKABLE_STREAMS);
    give(options.context > options.min_context, SOTTO_SHRINKABLE_TOKENS);
    give(any_kv, SOTTO_SHRINKABLE_KV);
    give(!asked.contains("gpu_layers"), SOTTO_SHRINKABLE_LAYERS);
}

} // namespace

Options read_options(const sotto_model_source& source, std::uint32_t trained_context) {
    trained_context = std::max(trained_context, kLeastContext);
    Options options;
    options.context = std::min(options.context, trained_context);
    const auto asked = parse(view(source.options));
    for (const auto& [option, value] : asked.items()) {
        read_option(options, option, value, trained_context);
    }
    if (!asked.contains("min_context")) {
        options.min_context =
            asked.contains("context") ? options.context : std::min(options.min_context, options.context);
    }
    check(options);
    save_memory(options, asked, source);
    return options;
}

} // namespace sotto::llama
