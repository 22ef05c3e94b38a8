#include "backends/diffusion/model_files.hpp"

#include <deque>
#include <filesystem>
#include <string_view>
#include <vector>

#include "backends/diffusion/file/model_check.hpp"
#include "backends/diffusion/file/parts.hpp"
#include "runtime/fence.hpp"

namespace sotto::diffusion {
namespace {

using llama::Error;

constexpr std::string_view kNetwork = "model.diffusion_model."; // before the names of a whole model

// A part of a model that may be in a file of its own.
struct Part {
    const char* option;
    std::string Options::* path;
    std::string_view prefix; // of stable-diffusion.cpp
    bool Parts::* holds;
    bool Parts::* or_holds;
};
constexpr Part kParts[] = {
    {"diffusion_model", &Options::diffusion_model, kNetwork, &Parts::diffusion, &Parts::diffusion},
    {"clip_l", &Options::clip_l, "text_encoders.clip_l.transformer.", &Parts::clip_l, &Parts::clip_g},
    {"clip_g", &Options::clip_g, "text_encoders.clip_g.transformer.", &Parts::clip_g, &Parts::clip_l},
    {"t5xxl", &Options::t5xxl, "text_encoders.t5xxl.transformer.", &Parts::t5, &Parts::t5},
    {"llm", &Options::llm, "text_encoders.llm.", &Parts::llm, &Parts::llm},
    {"vae", &Options::vae, "vae.", &Parts::vae, &Parts::vae},
    {"taesd", &Options::taesd, "tae.", &Parts::tiny_vae, &Parts::tiny_vae},
};

bool is_whole(const WeightsFile& file) {
    for (const auto& tensor : file.tensors) {
        if (std::string_view(tensor.name).starts_with(kNetwork)) {
            return true;
        }
    }
    return false;
}

[[noreturn]] void refuse(const std::string& path, const std::string& expected) {
    throw Error(SOTTO_ERROR_MODEL, "the file '" + path + "' " + expected);
}

void check_complete(const std::string& path, const Parts& all) {
    if (!all.clip_l && !all.clip_g && !all.t5 && !all.llm) {
        refuse(
            path,
            "has no text encoder: name its file in the load options, as clip_l, clip_g, t5xxl or llm; the "
            "model's "
            "page says which it needs"
        );
    }
    if (!all.vae && !all.tiny_vae) {
        refuse(path, "has no autoencoder: name its file in the load options, as vae or taesd");
    }
}

void add(Parts& all, const Parts& found) {
    for (const auto& part : kParts) {
        all.*part.holds = all.*part.holds || found.*part.holds;
    }
}

} // namespace

std::filesystem::path system_path(const std::string& path) {
    return std::filesystem::path(std::u8string(path.begin(), path.end()));
}

void check_file_access(const sotto_file_access* files) {
    if (files != nullptr) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "diffusion models are read from the file system: load this one without file access functions"
        );
    }
}

ModelFiles check_files(const std::string& path, const Options& options) {
    const auto folder = system_path(path).parent_path();
    ModelFiles files{path, options};
    std::deque<WeightsFile> checked; // a deque, for `loaded` refers to its elements
    std::vector<LoadedFile> loaded;
    checked.push_back(check_weights(system_path(path)));
    Parts all = parts_of(checked.back());
    if (!all.diffusion) {
        refuse(
            path, "has no network that generates images: pass the diffusion model as the path of the model"
        );
    }
    if (is_whole(checked.back())) {
        loaded.push_back({checked.back(), ""});
    } else {
        loaded.push_back({checked.back(), kNetwork});
        files.options.diffusion_model = path;
        files.checkpoint.clear();
    }
    for (const auto& part : kParts) {
        auto& given = files.options.*part.path;
        if (given.empty() || given == path) {
            continue;
        }
        const auto whole = (folder / system_path(given)).u8string();
        given.assign(whole.begin(), whole.end());
        checked.push_back(check_weights(system_path(given)));
        const auto found = parts_of(checked.back());
        if (!(found.*part.holds) && !(found.*part.or_holds)) {
            refuse(given, "is not what the load option " + std::string(part.option) + " names");
        }
        add(all, found);
        loaded.push_back({checked.back(), part.prefix});
    }
    check_complete(path, all);
    check_model(loaded);
    return files;
}

} // namespace sotto::diffusion
