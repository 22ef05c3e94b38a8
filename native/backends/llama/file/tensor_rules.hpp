// The types that ggml's CPU code can compute with, by what a tensor is for.
#pragma once

#include "file/gguf_check.hpp"

#include <string_view>

namespace sotto::llama {

// Whether matrix products and row lookups read this ggml_type. ggml's own answer is that its CPU traits have
// a dot product; the tests compare the two.
bool reads_as_weights(std::uint32_t type);

// The tensor with that name; NULL: the file has none.
const GgufTensor* find_tensor(const GgufTensors& tensors, std::string_view name);

} // namespace sotto::llama
