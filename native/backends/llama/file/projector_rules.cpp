// Validates the metadata of projector files before mtmd reads them.
#include "file/tensor_rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <gguf.h>

namespace sotto::llama {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
    throw Error(SOTTO_ERROR_MODEL, reason);
}

std::string shown(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    return text;
}

struct Range {
    const char* key; // key without its prefix "clip.vision." or "clip.audio."
    double least;
    double most;
};

constexpr double kMaxWidth = 1 << 16;

constexpr Range kRanges[] = {
    {"embedding_length", 1, kMaxWidth},
    {"feed_forward_length", 0, 1 << 20},
    {"block_count", 0, 512},
    {"attention.head_count", 1, 1 << 10},
    {"attention.head_count_kv", 1, 1 << 10},
    {"attention.head_dim", 0, 1 << 12},
    {"attention.layer_norm_epsilon", 0, 1},
    {"projection_dim", 0, 1 << 20},
    {"image_size", 1, 1 << 13},
    {"patch_size", 1, 1 << 10},
    {"preproc_image_size", 0, 1 << 14},
    {"image_min_pixels", 0, 1 << 28},
    {"image_max_pixels", 0, 1 << 28},
    {"preproc_min_tiles", 0, 1 << 8},
    {"preproc_max_tiles", 0, 1 << 8},
    {"projector.scale_factor", 1, 1 << 6},
    {"spatial_merge_size", 1, 1 << 6},
    {"window_size", 0, 1 << 13},
    {"num_mel_bins", 1, 1 << 10},
    {"projector.stack_factor", 1, 1 << 8},
};

constexpr double kMaxAny = 1 << 30;

void check_number(const std::string& key, double number, double least, double most) {
    if (!(number >= least && number <= most)) { // written so that NaN is refused too
        refuse(invalid(key, shown(number), shown(least) + " to " + shown(most)));
    }
}

void check_ranges(const GgufValues& values, const std::string& prefix) {
    for (const auto& range : kRanges) {
        const auto key = prefix + range.key;
        const auto found = values.find(key);
        if (found == values.end()) {
            continue;
        }
        for (const double number : found->second.numbers) {
            check_number(key, number, range.least, range.most);
        }
    }
}

void check_heads(const GgufValues& values, const std::string& prefix) {
    const auto heads = gguf_number(values, prefix + "attention.head_count", 1);
    const auto width = gguf_number(values, prefix + "embedding_length", heads);
    if (std::fmod(width, heads) != 0 && !values.contains(prefix + "attention.head_dim")) {
        refuse(
            invalid(prefix + "embedding_length", shown(width), "a multiple of the " + shown(heads) + " heads")
        );
    }
}

// Rejects kinds of projectors that are not supported: with deepseek4v and hunyuanvl, an image's tokens or
// their positions depend on the prompt before the image, but this backend processes each image by itself; the
// other kinds generate speech.
void check_kind(const GgufValues& values, const std::string& key) {
    const auto found = values.find(key);
    if (found == values.end()) {
        return;
    }
    for (const char* kind : {
             "deepseek4v", "hunyuanvl", "qwen3tts_spkenc", "qwen3tts_gen", "pockettts_spkenc", "pockettts_gen"
         }) {
        if (found->second.text == kind) {
            throw Error(
                SOTTO_ERROR_UNSUPPORTED,
                "projector kind '" + std::string(kind) + "' is not supported; use another projector"
            );
        }
    }
}

// Throws if a layer with attention lacks a Q, K or V tensor, which mtmd uses without checking that it exists.
void check_attention(const GgufTensors& tensors, const std::string& layer) {
    const auto has = [&](const char* name) { return find_tensor(tensors, layer + name) != nullptr; };
    if (!has("attn_out.weight") || has("attn_qkv.weight")) {
        return; // no attention, or a combined QKV tensor
    }
    for (const char* name : {"attn_q.weight", "attn_k.weight", "attn_v.weight"}) {
        if (!has(name)) {
            refuse(
                "missing tensor '" + layer + name + "': expected beside '" + layer +
                "attn_out.weight'; convert the projector again"
            );
        }
    }
}

void check_layers(const GgufValues& values, const GgufTensors& tensors) {
    for (const auto& [modality, prefix] : {std::pair("clip.vision.", "v"), std::pair("clip.audio.", "a")}) {
        const auto layers = gguf_number(values, std::string(modality) + "block_count", 0);
        for (int layer = 0; layer < static_cast<int>(layers); ++layer) {
            check_attention(tensors, std::string(prefix) + ".blk." + std::to_string(layer) + ".");
        }
    }
}

void check_layer_count(const GgufValues& values, const std::string& key) {
    if (gguf_number(values, key, 0) < 1) {
        refuse("invalid " + key + " '0': expected 1 or more; convert the projector again");
    }
}

// Kinds of projectors for which mtmd uses position embeddings without checking that they exist.
constexpr std::string_view kWithPositions[] = {
    "adapter",      "deepseekocr", "deepseekocr2", "gemma3",         "gemma4uv",    "gemma4v",
    "idefics3",     "internvl",    "janus_pro",    "kimik25",        "kimivl",      "ldp",
    "ldpv2",        "lfm2",        "ling3vl",      "llama4",         "minicpmv4_6", "mlp",
    "muse-glimmer", "paddleocr",   "phi4",         "qwen3vl_merger", "resampler",   "step3vl",
};
constexpr std::string_view kOfWhisper[] = {
    // kinds of audio projectors with layers like Whisper's
    "glma",
    "meralion",
    "musicflamingo",
    "qwen2a",
    "ultravox",
    "voxtral",
};

void check_there(const GgufTensors& tensors, const std::string& name, std::string_view kind) {
    if (find_tensor(tensors, name) == nullptr) {
        refuse(
            "missing tensor '" + name + "': expected in a projector of the kind '" + std::string(kind) +
            "'; convert the projector again"
        );
    }
}

template <std::size_t N>
bool among(const std::string_view (&kinds)[N], std::string_view kind) {
    return std::find(std::begin(kinds), std::end(kinds), kind) != std::end(kinds);
}

void check_kind_tensors(const GgufValues& values, const GgufTensors& tensors, const std::string& key) {
    const auto found = values.find(key);
    if (found == values.end()) {
        return;
    }
    const std::string_view kind = found->second.text;
    if (among(kWithPositions, kind)) {
        check_there(tensors, "v.position_embd.weight", kind);
    }
    if (among(kOfWhisper, kind)) {
        check_there(tensors, "a.position_embd.weight", kind);
        check_there(tensors, "a.blk.0.attn_out.weight", kind);
        check_layer_count(values, "clip.audio.block_count");
    }
    if (kind == "qwen3a" || kind == "lfm2a") {
        check_there(tensors, "a.position_embd.weight", kind);
    }
    if (kind == "mlp" && find_tensor(tensors, "mm.3.weight") != nullptr) {
        check_there(tensors, "mm.3.bias", kind);
    } else if (kind == "mlp") {
        check_there(tensors, "mm.2.weight", kind);
    }
}

// Checks the sizes to which mtmd scales images: image_min_pixels, to which it enlarges small images;
// image_max_pixels, to which it reduces large images; and preproc_image_size, the longest side.
void check_pixels(const GgufValues& values, double patch, double width) {
    // pixels; published files need up to 2^23.2, with sides of 3024
    constexpr double kMaxScaledUp = 1ull << 24;
    // floats of all patches of an image; published files reach 2^26.4
    constexpr double kMaxNumbers = 1ull << 28;
    const auto check = [&](const char* name, double power, double most) {
        const auto key = std::string("clip.vision.") + name;
        const auto found = gguf_number(values, key, 0);
        const auto max_pixels = std::min(most, std::floor(kMaxNumbers / width) * patch * patch);
        if (std::pow(found, power) > max_pixels) {
            const auto max = static_cast<std::uint64_t>(std::pow(max_pixels, 1 / power));
            refuse(
                "invalid " + key + " '" + std::to_string(static_cast<std::uint64_t>(found)) +
                "': expected at most " + std::to_string(max) + "; convert the projector again"
            );
        }
    };
    check("image_min_pixels", 1, kMaxScaledUp);
    check("image_max_pixels", 1, kMaxNumbers);
    check("preproc_image_size", 2, kMaxScaledUp);
}

// Checks the sizes of patches and images: mtmd splits an image into patches, and multiplies each patch by
// weights of the same size. mtmd allocates memory in proportion to the sizes in the metadata, so the file
// must contain as many weights as these sizes imply.
void check_patches(const GgufValues& values, const GgufTensors& tensors) {
    constexpr double kColours = 3;
    constexpr double kLeeway = 4;   // tolerance factor: kinds of projectors count patches differently
    constexpr double kMaxSide = 96; // pixels of the side of one token's area
    constexpr double kMaxNumbers = 1ull << 26; // floats of all patches of an image
    const auto number = [&](const char* key, double otherwise) {
        return gguf_number(values, std::string("clip.vision.") + key, otherwise);
    };
    const auto patch = number("patch_size", 1);
    const auto width = number("embedding_length", 1);
    const auto* weights = find_tensor(tensors, "v.patch_embd.weight");
    const auto wanted = patch * patch * kColours * width;
    if (weights != nullptr && wanted > kLeeway * static_cast<double>(weights->elements)) {
        refuse(
            "invalid clip.vision.patch_size '" + std::to_string(static_cast<int>(patch)) +
            "': expected a side that "
            "fits tensor 'v.patch_embd.weight' of " +
            std::to_string(weights->elements) + " numbers; convert the projector again"
        );
    }
    const auto merged = std::max(number("spatial_merge_size", 1), number("projector.scale_factor", 1));
    if (patch > 1 && patch * merged > kMaxSide) {
        refuse(
            "invalid clip.vision.patch_size '" + std::to_string(static_cast<int>(patch)) + "' with " +
            std::to_string(static_cast<int>(merged)) +
            " patches a side to a token: expected a product of at most " +
            std::to_string(static_cast<int>(kMaxSide)) + "; convert the projector again"
        );
    }
    check_pixels(values, patch, width);
    const auto side = number("image_size", 0) / patch;
    if (side * side * width > kMaxNumbers) {
        refuse(
            "invalid clip.vision.image_size '" + std::to_string(static_cast<int>(side * patch)) +
            "' with patches of " + std::to_string(static_cast<int>(patch)) + ": expected at most " +
            std::to_string(static_cast<std::uint64_t>(kMaxNumbers / width)) +
            " patches an image; convert the projector again"
        );
    }
}

} // namespace

void check_projector_tensors(const GgufValues& values, const GgufTensors& tensors) {
    check_layers(values, tensors);
    for (const char* key :
         {"clip.projector_type", "clip.vision.projector_type", "clip.audio.projector_type"}) {
        check_kind_tensors(values, tensors, key);
    }
    check_patches(values, tensors);
}

void check_projector_values(const GgufValues& values) {
    const auto architecture = values.find("general.architecture");
    if (architecture == values.end() || architecture->second.text != "clip") {
        const auto found = architecture == values.end() ? "" : architecture->second.text.substr(0, 64);
        refuse(invalid("general.architecture", found, "'clip', which a projector has"));
    }
    for (const auto& [key, value] : values) {
        for (const double number : value.numbers) {
            if (key.starts_with("clip.") && !(std::abs(number) <= kMaxAny)) {
                refuse(invalid(key, shown(number), "a number of at most " + shown(kMaxAny)));
            }
        }
    }
    for (const char* prefix : {"clip.vision.", "clip.audio."}) {
        check_ranges(values, prefix);
        check_heads(values, prefix);
    }
    check_kind(values, "clip.projector_type");
    check_kind(values, "clip.vision.projector_type");
}

} // namespace sotto::llama
