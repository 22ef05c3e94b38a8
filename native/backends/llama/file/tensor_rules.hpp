// Tensor types that ggml's CPU code supports in each role.
#pragma once

#include "file/gguf_check.hpp"

#include <string_view>

namespace sotto::llama {

// Returns true if matrix products and row lookups support this ggml_type, that is, if ggml's CPU traits have
// a dot product for it; tests compare this function with the traits.
bool reads_as_weights(std::uint32_t type);

// Returns the tensor with that name; NULL: the file has no such tensor.
const GgufTensor* find_tensor(const GgufTensors& tensors, std::string_view name);

} // namespace sotto::llama
