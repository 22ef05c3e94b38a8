// ggml's operation IM2COL, which lays out the inputs of a convolution as a matrix, with the same values and
// many times as fast. A kernel of the CPU.
#pragma once

#include <cstdint>

#include <ggml.h>

namespace sotto::diffusion {

// Makes a node of the operation IM2COL run this kernel. Returns false, and changes nothing, for nodes that it
// cannot compute.
bool take_over_im2col(ggml_tensor& node) noexcept;
// Returns true if take_over_im2col() has changed the node.
bool is_own_im2col(const ggml_tensor& node) noexcept;
// Makes a copy of such a node, which has fewer rows of pixels in dimension 2, begin at row `first`.
void set_first_row(ggml_tensor& copy, std::int64_t first) noexcept;

} // namespace sotto::diffusion
