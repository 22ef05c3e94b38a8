// Options that a host can set when it opens a model.
#include "model/options.hpp"

#include "runtime/json_parts.hpp"
#include "step/speculate.hpp"

#include <algorithm>
#include <cmath>
#include <ggml.h>
#include <iterator>

namespace sotto::llama {
namespace {

constexpr std::uint32_t kLeastContext = 16;
constexpr std::uint32_t kMostParallel = 64;
constexpr std::uint32_t kMostBatch = 4096;
constexpr std::uint32_t kMostLayers = 1 << 16;
constexpr std::uint32_t kLeastImageTokens = 64;
constexpr std::uint32_t kMostImageTokens = 1 << 14;

// An option that the host set. `max_context`: the highest context size that the model supports, in tokens.
struct Value {
    std::string option;
    const Json& json;
    std::uint32_t max_context;
};

struct Range {
    double min;
    double max;
    const char* text;
};

constexpr Range kRopeBase = {1, 1e12, "1 to 1e12"};
constexpr Range kRopeScale = {1e-6, 1e3, "1e-6 to 1000"};

[[noreturn]] void refuse(const std::string& option, const Json& value, const std::string& allowed) {
    const auto text = value.is_string() ? value.get<std::string>() : text_of(value);
    throw invalid_argument("options." + option, text, allowed);
}

std::uint32_t whole(const Value& value, std::uint32_t least, std::uint32_t most) {
    const auto& json = value.json;
    const bool fits =
        json.is_number_unsigned() && json.get<std::uint64_t>() >= least && json.get<std::uint64_t>() <= most;
    if (!fits) {
        refuse(
            value.option, json, "an integer from " + std::to_string(least) + " to " + std::to_string(most)
        );
    }
    return json.get<std::uint32_t>();
}

float number(const Value& value, const Range& range) {
    const bool fits = value.json.is_number() && value.json.get<double>() >= range.min &&
                      value.json.get<double>() <= range.max;
    if (!fits) {
        refuse(value.option, value.json, std::string("a number from ") + range.text);
    }
    return value.json.get<float>();
}

bool truth(const Value& value) {
    if (!value.json.is_boolean()) {
        refuse(value.option, value.json, "true or false");
    }
    return value.json.get<bool>();
}

std::string text(const Value& value) {
    if (!value.json.is_string()) {
        refuse(value.option, value.json, "a string");
    }
    return value.json.get<std::string>();
}

template <typename T>
struct Name {
    const char* name;
    T value;
};

// Returns the value that is named in `names`. `allowed`: the names, for the error.
template <typename T, std::size_t count>
T one_of(const Value& value, const Name<T> (&names)[count], const char* allowed) {
    for (const auto& each : names) {
        if (value.json == each.name) {
            return each.value;
        }
    }
    refuse(value.option, value.json, allowed);
}

Options::FlashAttention flash_attention(const Value& value) {
    using Flash = Options::FlashAttention;
    constexpr Name<Flash> kNames[] = {{"auto", Flash::Auto}, {"on", Flash::On}, {"off", Flash::Off}};
    return one_of(value, kNames, "\"auto\", \"on\" or \"off\"");
}

Options::KvType kv_type(const Value& value) {
    constexpr Name<Options::KvType> kNames[] = {
        {"f16", Options::KvType::F16}, {"q8_0", Options::KvType::Q8_0}
    };
    return one_of(value, kNames, "\"f16\" or \"q8_0\"");
}

Options::Speculative speculative(const Value& value) {
    constexpr Name<Options::Speculative> kNames[] = {
        {"off", Options::Speculative::Off}, {"lookup", Options::Speculative::Lookup}
    };
    return one_of(value, kNames, "\"off\" or \"lookup\"");
}

Options::Pooling pooling(const Value& value) {
    using Pooling = Options::Pooling;
    constexpr Name<Pooling> kNames[] = {
        {"mean", Pooling::Mean},
        {"cls", Pooling::Cls},
        {"last", Pooling::Last},
        {"rank", Pooling::Rank},
        {"none", Pooling::Tokens},
    };
    return one_of(value, kNames, "\"mean\", \"cls\", \"last\", \"rank\" or \"none\"");
}

struct Reader {
    const char* option;
    void (*read)(Options& options, const Value& value);
};

constexpr Reader kReaders[] = {
    {"context", [](Options& to, const Value& of) { to.context = whole(of, kLeastContext, of.max_context); }},
    {"parallel", [](Options& to, const Value& of) { to.parallel = whole(of, 1, kMostParallel); }},
    {"batch", [](Options& to, const Value& of) { to.batch = whole(of, 1, kMostBatch); }},
    {"ubatch", [](Options& to, const Value& of) { to.limits.ubatch = whole(of, 1, kMostBatch); }},
    {"threads",
     [](Options& to, const Value& of) { to.limits.decode_threads = whole(of, 1, GGML_MAX_N_THREADS); }},
    {"threads_batch",
     [](Options& to, const Value& of) { to.limits.prefill_threads = whole(of, 1, GGML_MAX_N_THREADS); }},
    {"mmap", [](Options& to, const Value& of) { to.mmap = truth(of); }},
    {"mlock", [](Options& to, const Value& of) { to.mlock = truth(of); }},
    {"check_tensors", [](Options& to, const Value& of) { to.check_tensors = truth(of); }},
    {"flash_attention", [](Options& to, const Value& of) { to.flash_attention = flash_attention(of); }},
    {"kv_type", [](Options& to, const Value& of) { to.kv_type = kv_type(of); }},
    {"offload_kqv", [](Options& to, const Value& of) { to.offload_kqv = truth(of); }},
    {"min_context",
     [](Options& to, const Value& of) { to.min_context = whole(of, kLeastContext, of.max_context); }},
    {"rope_freq_base", [](Options& to, const Value& of) { to.rope.base = number(of, kRopeBase); }},
    {"rope_freq_scale", [](Options& to, const Value& of) { to.rope.scale = number(of, kRopeScale); }},
    {"speculative", [](Options& to, const Value& of) { to.speculative = speculative(of); }},
    {"draft", [](Options& to, const Value& of) { to.draft = text(of); }},
    {"draft_max", [](Options& to, const Value& of) { to.limits.draft_max = whole(of, 1, kMostGuessed); }},
    {"chat_template", [](Options& to, const Value& of) { to.chat_template = text(of); }},
    {"projector", [](Options& to, const Value& of) { to.projector = text(of); }},
    {"image_tokens",
     [](Options& to, const Value& of) { to.image_tokens = whole(of, kLeastImageTokens, kMostImageTokens); }},
    {"pooling", [](Options& to, const Value& of) { to.pooling = pooling(of); }},
    {"gpu_layers", [](Options& to, const Value& of) { to.gpu_layers = whole(of, 0, kMostLayers); }},
};

std::string known_options() {
    std::string names;
    for (const auto& reader : kReaders) {
        const bool last = &reader + 1 == std::end(kReaders);
        names += (names.empty() ? "" : last ? " or " : ", ") + std::string(reader.option);
    }
    return names;
}

void read_option(Options& options, const Value& value) {
    for (const auto& reader : kReaders) {
        if (value.option == reader.option) {
            reader.read(options, value);
            return;
        }
    }
    throw invalid_argument("option", value.option, known_options());
}

// Returns the highest context size, in tokens. `rope_freq_scale` below 1 stretches the positions that the
// model was trained for.
std::uint32_t max_context(const Json& asked, std::uint32_t trained_context) {
    constexpr double kMost = 1 << 24; // tokens; more would overflow sizes
    if (!asked.contains("rope_freq_scale")) {
        return trained_context;
    }
    const double scale = number({"rope_freq_scale", asked["rope_freq_scale"], 0}, kRopeScale);
    const auto stretched = std::min(std::round(trained_context / scale), kMost);
    return std::max(trained_context, static_cast<std::uint32_t>(stretched));
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
    if (options.limits.ubatch > options.batch) {
        refuse("ubatch", options.limits.ubatch, "at most \"batch\", " + std::to_string(options.batch));
    }
    if (options.limits.ubatch != 0 && options.limits.ubatch < options.batch && !options.projector.empty()) {
        refuse(
            "ubatch",
            options.limits.ubatch,
            "\"batch\" where \"projector\" is set, " + std::to_string(options.batch)
        );
    }
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
    const auto most = max_context(asked, trained_context);
    for (const auto& [option, value] : asked.items()) {
        read_option(options, {option, value, most});
    }
    options.limits.prefill_threads =
        options.limits.prefill_threads == 0 ? options.limits.decode_threads : options.limits.prefill_threads;
    if (!asked.contains("min_context")) {
        options.min_context =
            asked.contains("context") ? options.context : std::min(options.min_context, options.context);
    }
    check(options);
    save_memory(options, asked, source);
    return options;
}

} // namespace sotto::llama
