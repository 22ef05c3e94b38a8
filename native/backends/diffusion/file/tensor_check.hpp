// Rules for single tensors that hold for both file formats.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/diffusion/file/weights_check.hpp"

namespace sotto::diffusion {

constexpr std::size_t kMaxTensors = 100'000;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000; // as in the reference implementation of safetensors

// Throws Error(SOTTO_ERROR_MODEL) with the name as far as it can be shown, and with the reason.
[[noreturn]] void refuse(const std::string& reason);
[[noreturn]] void refuse_tensor(std::string_view name, const std::string& reason);

// Checks a name: its length, its characters, and the numbers of blocks in it, from which stable-diffusion.cpp
// derives the depth of a network.
void check_name(std::string_view name);
// Checks the shape, and that stable-diffusion.cpp can convert the type of a tensor with this name. Returns
// the number of elements.
std::uint64_t check_shape(const TensorFact& tensor);
void check_type(const TensorFact& tensor, std::uint64_t elements);

} // namespace sotto::diffusion
