#include "backends/diffusion/graph_parts.hpp"

#include <algorithm>
#include <cstddef>

#include "backends/diffusion/graph_cost.hpp"
#include "backends/diffusion/im2col.hpp"

namespace sotto::diffusion {
namespace {

constexpr double kMost = 128;         // units of a part: tens of milliseconds of one core
constexpr double kLeast = 8;          // of a part; to begin and end one takes about 0.1 ms
constexpr double kPartsOfGraph = 256; // of a graph, between these limits

double most_of(ggml_cgraph& graph) noexcept {
    return std::clamp(cost_of(graph) / kPartsOfGraph, kLeast, kMost);
}

bool is_weight(const ggml_tensor& tensor) noexcept {
    const auto& origin = tensor.view_src != nullptr ? *tensor.view_src : tensor;
    return origin.op == GGML_OP_NONE;
}

// Rows `from` to `from + count` of a dimension.
ggml_tensor
rows_of(const ggml_tensor& tensor, int dimension, std::int64_t from, std::int64_t count) noexcept {
    auto rows = tensor;
    rows.ne[dimension] = count;
    rows.data = static_cast<std::byte*>(tensor.data) + static_cast<std::size_t>(from) * tensor.nb[dimension];
    return rows;
}

} // namespace

GraphParts::GraphParts(ggml_cgraph& graph, bool on_cpu) noexcept
    : graph_(graph), splits_nodes_(on_cpu), most_(most_of(graph)), part_(ggml_graph_view(&graph, 0, 0)) {
    for (int i = 0; i < graph.n_nodes && on_cpu; ++i) {
        take_over_im2col(*graph.nodes[i]);
    }
}

ggml_cgraph* GraphParts::next() noexcept {
    cost_ = 0;
    if (split_.node == nullptr) {
        return next_nodes();
    }
    return next_piece();
}

// A part of whole nodes, or the first piece of a long one.
ggml_cgraph* GraphParts::next_nodes() noexcept {
    const int from = at_;
    for (; at_ < graph_.n_nodes && cost_ < most_; ++at_) {
        auto& node = *graph_.nodes[at_];
        const auto cost = cost_of(node);
        if (splits_nodes_ && cost > 2 * kMost && begin_pieces(node)) {
            if (at_ != from) { // the nodes before it are a part
                split_.node = nullptr;
                break;
            }
            ++at_;
            return next_piece();
        }
        cost_ += cost;
    }
    part_ = ggml_graph_view(&graph_, from, at_);
    return from != at_ ? &part_ : nullptr;
}

// Chooses how to cut a node. Returns false if it cannot be cut.
bool GraphParts::begin_pieces(ggml_tensor& node) noexcept {
    if ((node.flags & GGML_TENSOR_FLAG_COMPUTE) == 0) {
        return false;
    }
    Split split;
    if (node.op == GGML_OP_MUL_MAT && node.ne[0] > node.ne[1] && !is_weight(*node.src[0])) {
        split = {.dimension = 0, .source = 0, .source_dimension = 1}; // a convolution: ne[0] are the pixels
    } else if (node.op == GGML_OP_MUL_MAT) {
        split = {.dimension = 1, .source = 1, .source_dimension = 1};
    } else if (is_own_im2col(node) && node.ne[3] == 1) {
        split = {.dimension = 2, .source = -1};
    } else {
        return false;
    }
    constexpr std::int64_t kAligned = 16; // rows that kernels compute together
    const auto all = node.ne[split.dimension];
    const auto pieces = static_cast<std::int64_t>(cost_of(node) / kMost) + 1;
    split.rows = (all / pieces / kAligned + 1) * kAligned;
    if (split.rows >= all) {
        return false;
    }
    split.node = &node;
    split_ = split;
    return true;
}

ggml_cgraph* GraphParts::next_piece() noexcept {
    const auto& node = *split_.node;
    const auto all = node.ne[split_.dimension];
    const auto count = std::min(split_.rows, all - split_.done);
    piece_ = rows_of(node, split_.dimension, split_.done, count);
    if (split_.source >= 0) {
        piece_source_ = rows_of(*node.src[split_.source], split_.source_dimension, split_.done, count);
        piece_.src[split_.source] = &piece_source_;
    } else {
        set_first_row(piece_, split_.done);
    }
    cost_ = cost_of(node) * static_cast<double>(count) / static_cast<double>(all);
    split_.done += count;
    if (split_.done == all) {
        split_.node = nullptr;
    }
    part_ = ggml_graph_view(&graph_, 0, 0);
    part_.nodes = &piece_node_;
    part_.n_nodes = 1;
    return &part_;
}

} // namespace sotto::diffusion
