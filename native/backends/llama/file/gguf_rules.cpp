// Validates the metadata of GGUF files before llama.cpp reads them.
#include "file/gguf_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <gguf.h>

namespace sotto::llama {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
    throw Error(SOTTO_ERROR_MODEL, reason);
}

std::string shown(double number) {
    const bool whole = std::abs(number) < 1e15 && number == std::floor(number);
    return whole ? std::to_string(static_cast<long long>(number)) : std::to_string(number);
}

// A metadata key without its prefix "<architecture>.", and the valid range of its values. llama.cpp handles
// the absence of a key that is not required.
struct Range {
    const char* key;
    double least;
    double most;
    bool required;
};

constexpr double kMaxWidth = 1 << 20;
constexpr double kMaxLayers = 512;
constexpr double kMaxHeads = 1 << 14;

constexpr Range kRanges[] = {
    {"context_length", 1, 1 << 24, true},
    {"embedding_length", 1, kMaxWidth, true},
    {"embedding_length_out", 0, kMaxWidth, false},
    {"block_count", 1, kMaxLayers, true},
    {"nextn_predict_layers", 0, kMaxLayers, false},
    {"leading_dense_block_count", 0, kMaxLayers, false},
    {"feed_forward_length", 0, 1 << 24, false},
    {"expert_feed_forward_length", 0, 1 << 24, false},
    {"expert_shared_feed_forward_length", 0, 1 << 24, false},
    {"vocab_size", 1, 1 << 24, false},
    {"expert_count", 0, 1024, false},
    {"expert_used_count", 0, 1024, false},
    {"expert_shared_count", 0, 1024, false},
    {"attention.head_count", 0, kMaxHeads, false},
    {"attention.head_count_kv", 0, kMaxHeads, false},
    {"attention.key_length", 1, 1 << 16, false},
    {"attention.value_length", 1, 1 << 16, false},
    {"attention.key_length_swa", 1, 1 << 16, false},
    {"attention.value_length_swa", 1, 1 << 16, false},
    {"attention.q_lora_rank", 0, kMaxWidth, false},
    {"attention.kv_lora_rank", 0, kMaxWidth, false},
    {"attention.group_norm_groups", 0, kMaxWidth, false},
    {"attention.layer_norm_epsilon", 0, 1, false},
    {"attention.layer_norm_rms_epsilon", 0, 1, false},
    {"rope.dimension_count", 0, 1 << 16, false},
    {"rope.dimension_count_swa", 0, 1 << 16, false},
    {"rope.freq_base", 1e-6, 1e15, false},
    {"rope.freq_base_swa", 1e-6, 1e15, false},
    {"rope.scaling.factor", 0, 1e6, false},
    {"rope.scaling.original_context_length", 0, 1 << 24, false},
    {"ssm.conv_kernel", 1, 1 << 12, false},
    {"ssm.inner_size", 1, kMaxWidth, false},
    {"ssm.state_size", 1, kMaxWidth, false},
    {"ssm.time_step_rank", 1, kMaxWidth, false}, // Mamba 2: the number of heads, a divisor of the width
    {"ssm.group_count", 1, kMaxWidth, false},
    {"full_attention_interval", 1, kMaxLayers, false},
    {"attention.output_group_count", 1, kMaxHeads, false},
    {"experts_per_group", 1, 1024, false},
    {"interleave_moe_layer_step", 0, kMaxLayers, false},
    {"wkv.head_size", 1, kMaxWidth, false},
    {"time_mix_extra_dim", 0, kMaxWidth, false},
    {"time_decay_extra_dim", 0, kMaxWidth, false},
};

// Maximum of all other integers of a model: llama.cpp multiplies some of these in 32 bits.
constexpr double kMaxAny = 1 << 30;

void check_range(const GgufValues& values, const std::string& architecture, const Range& range) {
    const auto key = architecture + "." + range.key;
    const auto found = values.find(key);
    if (found == values.end()) {
        if (range.required) {
            refuse(
                "missing " + key + ": expected a number from " + shown(range.least) + " to " +
                shown(range.most)
            );
        }
        return;
    }
    if (found->second.numbers.empty()) {
        refuse("invalid " + key + ": expected a number");
    }
    for (const double number : found->second.numbers) {
        if (!(number >= range.least && number <= range.most)) { // written so that NaN is refused too
            refuse(invalid(key, shown(number), shown(range.least) + " to " + shown(range.most)));
        }
    }
}

void check_any(const GgufValues& values, const std::string& architecture) {
    for (const auto& [key, value] : values) {
        const bool real = value.type == GGUF_TYPE_FLOAT32 || value.type == GGUF_TYPE_FLOAT64;
        if (!key.starts_with(architecture + ".")) {
            continue;
        }
        for (const double number : value.numbers) {
            if (!std::isfinite(number) || (!real && std::abs(number) > kMaxAny)) {
                refuse(invalid(key, shown(number), "a finite number of at most " + shown(kMaxAny)));
            }
        }
    }
}

double
number_of(const GgufValues& values, const std::string& architecture, const char* key, double otherwise) {
    return gguf_number(values, architecture + "." + key, otherwise);
}

// Architectures without attention. All other architectures divide their width by the number of heads.
constexpr std::array<std::string_view, 6> kWithoutHeads = {
    "mamba",
    "mamba2",
    "rwkv6",
    "rwkv6qwen2",
    "rwkv7",
    "arwkv7",
};

void check_heads(const GgufValues& values, const std::string& architecture) {
    const auto heads = number_of(values, architecture, "attention.head_count", 0);
    const bool without =
        std::find(kWithoutHeads.begin(), kWithoutHeads.end(), architecture) != kWithoutHeads.end();
    if (heads < 1 && !without) {
        refuse(
            "invalid " + architecture + ".attention.head_count '" + shown(heads) +
            "': expected 1 or more, which the model's width is divided by; convert the model again"
        );
    }
    const auto of_kv = number_of(values, architecture, "attention.head_count_kv", heads);
    const auto width = number_of(values, architecture, "embedding_length", 0);
    const bool sized = values.contains(architecture + ".attention.key_length");
    if (heads > 0 && !sized && std::fmod(width, heads) != 0) {
        refuse(invalid(
            architecture + ".embedding_length", shown(width), "a multiple of the " + shown(heads) + " heads"
        ));
    }
    if (heads > 0 && of_kv > 0 && std::fmod(heads, of_kv) != 0) {
        refuse(invalid(
            architecture + ".attention.head_count",
            shown(heads),
            "a multiple of attention.head_count_kv, " + shown(of_kv)
        ));
    }
    const auto head = heads > 0 ? number_of(values, architecture, "attention.key_length", width / heads) : 0;
    const auto rotated = number_of(values, architecture, "rope.dimension_count", head);
    if (heads > 0 && (rotated > head || std::fmod(rotated, 2) != 0)) {
        refuse(invalid(
            architecture + ".rope.dimension_count",
            shown(rotated),
            "an even number of at most " + shown(head) + ", the size of a head"
        ));
    }
}

// Architectures that always use multi-dimensional positions (M-RoPE). Other architectures use M-RoPE in some
// files only.
constexpr std::array<std::string_view, 8> kWithSections = {
    "paddleocr",
    "qwen2vl",
    "qwen35",
    "qwen35moe",
    "qwen3tts",
    "qwen3vl",
    "qwen3vlmoe",
    "qwen4exp",
};

// Checks the sections of M-RoPE: each axis of a position rotates a part of a head.
void check_sections(const GgufValues& values, const std::string& architecture) {
    const auto key = architecture + ".rope.dimension_sections";
    const auto found = values.find(key);
    const bool wanted =
        std::find(kWithSections.begin(), kWithSections.end(), architecture) != kWithSections.end();
    const auto heads = std::max(1.0, number_of(values, architecture, "attention.head_count", 1));
    const auto width = number_of(values, architecture, "embedding_length", 0);
    const auto head = number_of(values, architecture, "attention.key_length", width / heads);
    double sum = 0;
    double least = 0;
    for (const double section : found == values.end() ? std::vector<double>() : found->second.numbers) {
        sum += section;
        least = std::min(least, section);
    }
    if (least < 0 || sum > head || (wanted && sum < 1)) {
        refuse(
            "invalid " + key + " with a sum of '" + shown(sum) +
            "': expected sections of 0 or more that add up to 1 to " + shown(head) +
            ", the numbers of a head; convert the model again"
        );
    }
}

void check_experts(const GgufValues& values, const std::string& architecture) {
    const auto experts = number_of(values, architecture, "expert_count", 0);
    const auto used = number_of(values, architecture, "expert_used_count", 0);
    if (used > experts || (experts > 0 && used < 1)) {
        refuse(invalid(
            architecture + ".expert_used_count",
            shown(used),
            experts > 0 ? "1 to " + shown(experts) + ", the number of experts"
                        : "0 in a model without experts"
        ));
    }
    // Without an explicit width, the experts in use share the model's feed-forward width.
    const bool shares = number_of(values, architecture, "expert_feed_forward_length", 0) < 1;
    // one value per layer, or one value for all layers
    const auto each = values.find(architecture + ".expert_used_count");
    if (experts > 0 && shares && each != values.end()) {
        for (const double layer : each->second.numbers) {
            if (layer < 1) {
                refuse("invalid " + each->first + " '0': expected 1 or more; convert the model again");
            }
        }
    }
}

const GgufValue*
array_of(const GgufValues& values, std::string_view key, std::initializer_list<gguf_type> types) {
    const auto found = values.find(key);
    if (found == values.end()) {
        return nullptr;
    }
    for (const auto type : types) {
        if (found->second.is_array && found->second.type == static_cast<std::uint32_t>(type)) {
            return &found->second;
        }
    }
    refuse(
        "invalid " + std::string(key) + ": expected an array of type " + gguf_type_name(*types.begin()) +
        "; convert the model again"
    );
}

// Limits the lengths of PLaMo 2's tokens: the tokenizer builds a table of each token's suffixes and each
// suffix's prefixes, whose size is cubic in the token's length.
void check_suffixes(const GgufValues& values, const GgufValue& tokens) {
    constexpr double kMaxCubes = 1e9; // takes 1 to 2 s; published vocabularies have a tenth of this sum
    const auto model = values.find("tokenizer.ggml.model");
    if (model != values.end() && model->second.text == "plamo2" && tokens.cubes > kMaxCubes) {
        refuse(
            "invalid tokenizer.ggml.tokens: " + std::to_string(tokens.count) +
            " tokens are too long for tokenizer 'plamo2', whose table grows with the cube of their lengths; "
            "convert the model again"
        );
    }
}

// Throws if an RWKV token begins with a byte that is not a token by itself: RWKV's tokenizer loops forever if
// text begins with the first byte of a token and no token matches.
void check_single_bytes(const GgufValues& values, const GgufValue& tokens) {
    const auto model = values.find("tokenizer.ggml.model");
    if (model != values.end() && model->second.text == "rwkv" && (tokens.begins & ~tokens.alone).any()) {
        refuse(
            "invalid tokenizer.ggml.tokens: tokenizer 'rwkv' needs a token for each single byte that a token "
            "begins with; convert the model again"
        );
    }
}

void check_vocabulary(const GgufValues& values, const std::string& architecture) {
    const auto* tokens = array_of(values, "tokenizer.ggml.tokens", {GGUF_TYPE_STRING});
    if (tokens == nullptr || tokens->count == 0 || tokens->count > (1 << 24)) {
        refuse(
            "invalid tokenizer.ggml.tokens of " + std::to_string(tokens == nullptr ? 0 : tokens->count) +
            " tokens: expected 1 to " + std::to_string(1 << 24) + "; convert the model again"
        );
    }
    const auto* scores = array_of(values, "tokenizer.ggml.scores", {GGUF_TYPE_FLOAT32, GGUF_TYPE_INT32});
    const auto* kinds = array_of(values, "tokenizer.ggml.token_type", {GGUF_TYPE_INT32});
    for (const auto* other : {scores, kinds}) {
        if (other != nullptr && other->count != tokens->count) {
            refuse(
                "invalid tokenizer.ggml.scores or tokenizer.ggml.token_type of " +
                std::to_string(other->count) + " elements: expected " + std::to_string(tokens->count) +
                ", the number of tokens"
            );
        }
    }
    array_of(values, "tokenizer.ggml.merges", {GGUF_TYPE_STRING});
    check_suffixes(values, *tokens);
    check_single_bytes(values, *tokens);
    const auto announced = number_of(values, architecture, "vocab_size", static_cast<double>(tokens->count));
    if (announced > static_cast<double>(tokens->count) * 2 + 1024) {
        refuse(invalid(
            architecture + ".vocab_size",
            shown(announced),
            std::to_string(tokens->count) + ", the number of tokens"
        ));
    }
    for (const char* name : {"bos", "eos", "eot"}) {
        const auto key = std::string("tokenizer.ggml.") + name + "_token_id";
        const auto id = gguf_number(values, key, 0);
        constexpr double kNone = 0xFFFFFFFF; // some converters write this for "no token"
        if (id != kNone && !(id >= 0 && id < static_cast<double>(tokens->count))) {
            refuse(invalid(key, shown(id), "a token from 0 to " + std::to_string(tokens->count - 1)));
        }
    }
}

void check_split(const GgufValues& values) {
    if (const auto parts = gguf_number(values, "split.count", 1); parts > 1) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "the model is split into " + shown(parts) + " files; merge them with llama-gguf-split --merge"
        );
    }
}

} // namespace

void check_gguf_values(const GgufValues& values) {
    const auto named = values.find("general.architecture");
    if (named == values.end() || named->second.text.empty()) {
        refuse("missing general.architecture: expected a name; convert the model again");
    }
    const auto& architecture = named->second.text;
    if (architecture.size() > 64) {
        refuse(
            "invalid general.architecture of " + std::to_string(architecture.size()) +
            " bytes: expected at most 64"
        );
    }
    check_split(values);
    for (const auto& range : kRanges) {
        check_range(values, architecture, range);
    }
    check_any(values, architecture);
    check_heads(values, architecture);
    check_sections(values, architecture);
    check_experts(values, architecture);
    check_vocabulary(values, architecture);
}

} // namespace sotto::llama
