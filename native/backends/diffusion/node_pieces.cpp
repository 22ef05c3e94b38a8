#include "backends/diffusion/node_pieces.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include <ggml-impl.h>

#include "backends/diffusion/im2col.hpp"

namespace sotto::diffusion {
namespace {

constexpr std::int64_t kKernelRows = 16; // rows that kernels of matrix products compute together

bool is_weight(const ggml_tensor& tensor) noexcept {
    const auto& origin = tensor.view_src != nullptr ? *tensor.view_src : tensor;
    return origin.op == GGML_OP_NONE;
}

// The last dimension of more than one value: a range of it is contiguous.
int outermost(const ggml_tensor& node) noexcept {
    int dimension = GGML_MAX_DIMS - 1;
    while (dimension > 0 && node.ne[dimension] == 1) {
        --dimension;
    }
    return dimension;
}

// A node whose rows are computed each from the same rows of its operands, or from operands of a single row.
std::optional<NodeCut> by_rows(const ggml_tensor& node) noexcept {
    NodeCut cut;
    cut.dimension = outermost(node);
    if (cut.dimension == 0) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < GGML_MAX_SRC; ++i) {
        const auto* source = node.src[i];
        if (source == nullptr) {
            continue;
        }
        const auto size = source->ne[cut.dimension];
        if (i >= cut.sources.size() || (size != node.ne[cut.dimension] && size != 1)) {
            return std::nullopt;
        }
        cut.sources[i] = size == 1 ? NodeCut::kWhole : cut.dimension;
    }
    return cut;
}

// Rows of the result are those of the second operand, or columns are rows of the first one.
NodeCut of_product(const ggml_tensor& node) noexcept {
    NodeCut cut;
    cut.grain = kKernelRows;
    if (node.ne[0] > node.ne[1] && !is_weight(*node.src[0])) { // a convolution: columns are the pixels
        cut.sources[0] = 1;
    } else {
        cut.dimension = cut.sources[1] = 1;
    }
    return cut;
}

std::optional<NodeCut> cut_of(const ggml_tensor& node) noexcept {
    switch (node.op) {
    case GGML_OP_MUL_MAT:
        return of_product(node);
    case GGML_OP_ADD:
    case GGML_OP_MUL:
    case GGML_OP_SCALE:
    case GGML_OP_UNARY:
    case GGML_OP_NORM:
    case GGML_OP_RMS_NORM:
        return by_rows(node);
    case GGML_OP_SOFT_MAX: // without a mask and sinks
        return node.src[1] == nullptr && node.src[2] == nullptr ? by_rows(node) : std::nullopt;
    case GGML_OP_CONT:
        return ggml_are_same_shape(&node, node.src[0]) ? by_rows(node) : std::nullopt;
    case GGML_OP_UPSCALE: // each channel on its own
        return outermost(node) == 2 ? by_rows(node) : std::nullopt;
    case GGML_OP_GROUP_NORM: {
        auto cut = outermost(node) == 2 ? by_rows(node) : std::nullopt;
        const auto groups = ggml_get_op_params_i32(&node, 0);
        if (!cut || groups <= 0 || node.ne[2] % groups != 0) {
            return std::nullopt;
        }
        cut->grain = node.ne[2] / groups; // whole groups
        return cut;
    }
    case GGML_OP_CUSTOM:
        return is_own_im2col(node) && node.ne[3] == 1 ? std::optional(NodeCut{.dimension = 2}) : std::nullopt;
    default:
        return std::nullopt;
    }
}

ggml_tensor
range_of(const ggml_tensor& tensor, int dimension, std::int64_t from, std::int64_t count) noexcept {
    auto range = tensor;
    range.ne[dimension] = count;
    range.data = static_cast<std::byte*>(tensor.data) + static_cast<std::size_t>(from) * tensor.nb[dimension];
    return range;
}

} // namespace

bool NodePieces::begin(const ggml_tensor& node, double cost, double most) noexcept {
    const auto cut = cut_of(node);
    if (!cut || (node.flags & GGML_TENSOR_FLAG_COMPUTE) == 0) {
        return false;
    }
    const auto all = node.ne[cut->dimension];
    const auto grains = static_cast<std::int64_t>(static_cast<double>(all) * most / cost) / cut->grain;
    const auto count = std::max<std::int64_t>(grains, 1) * cut->grain;
    if (count >= all) {
        return false;
    }
    node_ = &node;
    cut_ = *cut;
    node_cost_ = cost;
    done_ = 0;
    count_ = count;
    return true;
}

ggml_tensor* NodePieces::next() noexcept {
    const auto& node = *node_;
    const auto all = node.ne[cut_.dimension];
    const auto count = std::min(count_, all - done_);
    piece_ = range_of(node, cut_.dimension, done_, count);
    for (std::size_t i = 0; i < cut_.sources.size(); ++i) {
        if (cut_.sources[i] != NodeCut::kWhole) {
            sources_[i] = range_of(*node.src[i], cut_.sources[i], done_, count);
            piece_.src[i] = &sources_[i];
        }
    }
    if (node.op == GGML_OP_CUSTOM) {
        set_first_row(piece_, done_);
    } else if (node.op == GGML_OP_GROUP_NORM) {
        piece_.op_params[0] = static_cast<std::int32_t>(count / cut_.grain); // groups
    }
    piece_cost_ = node_cost_ * static_cast<double>(count) / static_cast<double>(all);
    done_ += count;
    if (done_ == all) {
        node_ = nullptr;
    }
    return &piece_;
}

} // namespace sotto::diffusion
