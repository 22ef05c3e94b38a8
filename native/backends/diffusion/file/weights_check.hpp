// Validates weights files before stable-diffusion.cpp reads them: it trusts their headers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/source.hpp"

namespace sotto::diffusion {

// A tensor as the header describes it.
struct TensorFact {
    std::string name;
    std::string type;                // of safetensors, such as "BF16", or of ggml, such as "q8_0"
    std::vector<std::int64_t> shape; // outermost dimension first, as in PyTorch; empty: one number
    std::uint64_t bytes = 0;         // in the file
};

struct WeightsFile {
    bool gguf = false; // else safetensors
    std::uint64_t bytes = 0;
    std::vector<TensorFact> tensors; // in the order of their data
};

// Validates the header of a weights file and returns its tensors. Throws Error(SOTTO_ERROR_NOT_FOUND) if the
// file cannot be read, Error(SOTTO_ERROR_MODEL) if it is no GGUF or safetensors file, is damaged, or would
// make stable-diffusion.cpp crash. The message names the file, the reason and the way out.
WeightsFile check_weights(const std::filesystem::path& path);

// As check_weights(), without the name of the file in messages. `suffix` is that of the file's name, such as
// ".pt".
WeightsFile check_weights(gguf::Source& source, std::string_view suffix);

} // namespace sotto::diffusion
