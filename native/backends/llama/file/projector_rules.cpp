// Decides whether a file may be shown to mtmd: what its metadata says.
#include "file/gguf_check.hpp"

#include <cmath>
#include <gguf.h>

namespace sotto::llama {
namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw Error(SOTTO_ERROR_MODEL, why);
}

struct Range {
    const char* key; // after "clip.vision." or "clip.audio."
    double least;
    double most;
};

constexpr Range kRanges[] = {
    {"embedding_length", 1, 1 << 16},
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

constexpr double kMostAny = 1 << 30;

void check_number(const std::string& key, double number, double least, double most) {
    if (!(number >= least && number <= most)) { // nor is NaN
        refuse(key + " is " + std::to_string(number) + ", and may be up to " + std::to_string(most));
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
        refuse(prefix + "embedding_length does not divide by its heads");
    }
}

// These look at what is before an image in the prompt, and images are read one by one here.
void check_kind(const GgufValues& values, const std::string& key) {
    const auto found = values.find(key);
    if (found == values.end()) {
        return;
    }
    for (const char* kind : {"deepseek4v", "hunyuanvl"}) {
        if (found->second.text == kind) {
            throw Error(
                SOTTO_ERROR_UNSUPPORTED,
                "a projector of the kind \"" + std::string(kind) + "\" is not supported"
            );
        }
    }
}

} // namespace

void check_projector_values(const GgufValues& values) {
    const auto architecture = values.find("general.architecture");
    if (architecture == values.end() || architecture->second.text != "clip") {
        refuse("the file is no projector: its general.architecture is not \"clip\"");
    }
    for (const auto& [key, value] : values) {
        for (const double number : value.numbers) {
            if (key.starts_with("clip.") && !(std::abs(number) <= kMostAny)) {
                refuse(key + " is " + std::to_string(number));
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
