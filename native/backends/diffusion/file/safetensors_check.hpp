// Validates the header of a safetensors file. Format: github.com/huggingface/safetensors.
#pragma once

#include <vector>

#include "backends/diffusion/file/weights_check.hpp"

namespace sotto::diffusion {

// Returns the tensors in the order of their data. Throws Error(SOTTO_ERROR_MODEL) with the reason.
std::vector<TensorFact> check_safetensors(gguf::Source& source);

} // namespace sotto::diffusion
