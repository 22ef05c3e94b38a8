// Estimates of what the nodes of a graph cost, in units: a unit is about as long as 16 million floating point
// operations of a matrix product.
#pragma once

#include <ggml.h>

namespace sotto::diffusion {

double cost_of(const ggml_tensor& node) noexcept;
double cost_of(ggml_cgraph& graph) noexcept;

} // namespace sotto::diffusion
