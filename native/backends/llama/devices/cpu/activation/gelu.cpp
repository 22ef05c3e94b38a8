// GELU (Hendrycks and Gimpel, 2016) with its tanh approximation, as ggml defines it.
//
// ggml_cpu_hooks.h replaces ggml's kernel with this one. ggml's kernel looks half-precision results up in a
// table of half-precision arguments: that rounding is the largest error of an encoder's vectors, and the
// table takes 128 KiB of the cache.
#include "gelu.hpp"

#include <algorithm>
#include <cstdint>

#include "../attention/lanes.hpp"

extern "C" void ggml_compute_forward_unary(const ggml_compute_params* params, ggml_tensor* dst);

namespace sotto::llama {
namespace {

// x * (1 + tanh(u)) / 2 = x / (1 + e^(-2u)), with u = sqrt(2 / pi) * (x + 0.044715 * x^3).
Floats gelu(Floats x) {
    constexpr float kRoot = 0.79788456080286535588F; // sqrt(2 / pi)
    constexpr float kCubic = 0.044715F;
    const auto u = kRoot * x * (1 + kCubic * x * x);
    return x / (1 + exponential(-2 * u));
}

void gelu(const float* from, float* to, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        store(to + i, gelu(load(from + i)));
    }
    if (i < count) {
        Floats rest = {};
        std::copy(from + i, from + count, reinterpret_cast<float*>(&rest));
        rest = gelu(rest);
        std::copy_n(reinterpret_cast<const float*>(&rest), count - i, to + i);
    }
}

// Returns row `row` of a tensor with contiguous rows.
float* row_of(const ggml_tensor& tensor, std::int64_t row) {
    const auto plane = tensor.ne[1] * tensor.ne[2];
    const auto i3 = row / plane;
    const auto i2 = (row - i3 * plane) / tensor.ne[1];
    const auto i1 = row - i3 * plane - i2 * tensor.ne[1];
    auto* data = static_cast<char*>(tensor.data);
    return reinterpret_cast<float*>(
        data + static_cast<std::size_t>(i3) * tensor.nb[3] + static_cast<std::size_t>(i2) * tensor.nb[2] +
        static_cast<std::size_t>(i1) * tensor.nb[1]
    );
}

} // namespace
} // namespace sotto::llama

extern "C" void sotto_unary(const ggml_compute_params* params, ggml_tensor* to) {
    using namespace sotto::llama;
    const auto& from = *to->src[0];
    const bool fits = ggml_get_unary_op(to) == GGML_UNARY_OP_GELU && from.type == GGML_TYPE_F32 &&
                      to->type == GGML_TYPE_F32 && ggml_is_contiguous_rows(&from);
    if (!fits) {
        return ggml_compute_forward_unary(params, to);
    }
    const auto rows = ggml_nrows(&from);
    const auto each = (rows + params->nth - 1) / params->nth;
    const auto end = std::min(rows, each * (params->ith + 1));
    for (auto row = each * params->ith; row < end; ++row) {
        gelu(row_of(from, row), row_of(*to, row), from.ne[0]);
    }
}
