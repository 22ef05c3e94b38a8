#include "backends/diffusion/graph_cost.hpp"

#include <cstdint>

#include <ggml-impl.h>

namespace sotto::diffusion {
namespace {

constexpr double kOperations = 1 << 24;   // of a unit
constexpr double kOperationsPerByte = 16; // that a core computes while it reads or writes a byte of memory
constexpr double kGroupNorm = 4;          // times as slow: reads its values several times
constexpr double kUpscale = 8;            // likewise: divides for each value

double size(std::int64_t count) noexcept {
    return static_cast<double>(count);
}

// Floating point operations; 0: the node's time is that of its memory.
double operations_of(const ggml_tensor& node) noexcept {
    const auto* first = node.src[0];
    const auto* second = node.src[1];
    switch (node.op) {
    case GGML_OP_MUL_MAT:
    case GGML_OP_MUL_MAT_ID:
        return 2 * size(first->ne[0]) * size(ggml_nelements(&node));
    case GGML_OP_CONV_2D: // of each value: width, height and channels of the kernel
        return 2 * size(first->ne[0] * first->ne[1] * first->ne[2]) * size(ggml_nelements(&node));
    case GGML_OP_FLASH_ATTN_EXT: // products with the keys and with the values
        return 4 * size(second->ne[1]) * size(ggml_nelements(first));
    default:
        return 0;
    }
}

double bytes_of(const ggml_tensor& node) noexcept {
    auto bytes = static_cast<double>(ggml_nbytes(&node));
    for (const auto* source : node.src) {
        bytes += source != nullptr ? static_cast<double>(ggml_nbytes(source)) : 0;
    }
    return bytes;
}

} // namespace

double cost_of(const ggml_tensor& node) noexcept {
    if (ggml_op_is_empty(node.op)) {
        return 0;
    }
    const auto times = node.op == GGML_OP_GROUP_NORM ? kGroupNorm : node.op == GGML_OP_UPSCALE ? kUpscale : 1;
    return (operations_of(node) + times * kOperationsPerByte * bytes_of(node)) / kOperations;
}

double cost_of(ggml_cgraph& graph) noexcept {
    double cost = 0;
    for (int i = 0; i < ggml_graph_n_nodes(&graph); ++i) {
        cost += cost_of(*ggml_graph_node(&graph, i));
    }
    return cost;
}

} // namespace sotto::diffusion
