#include "backends/diffusion/graph_parts.hpp"

#include <algorithm>

#include "backends/diffusion/graph_cost.hpp"
#include "backends/diffusion/im2col.hpp"

namespace sotto::diffusion {
namespace {

constexpr double kMost = 128;           // units of a part: tens of milliseconds of one core
constexpr double kLeast = 8;            // of a part; to begin and end one takes about 0.1 ms
constexpr double kPartsOfGraph = 256;   // parts, between these limits
constexpr double kLongNode = 2 * kMost; // a node that costs more is cut

double most_of(ggml_cgraph& graph) noexcept {
    return std::clamp(cost_of(graph) / kPartsOfGraph, kLeast, kMost);
}

} // namespace

GraphParts::GraphParts(ggml_cgraph& graph, bool on_cpu) noexcept
    : graph_(graph), on_cpu_(on_cpu), most_(most_of(graph)), part_(ggml_graph_view(&graph, 0, 0)) {
    for (int i = 0; i < graph.n_nodes && on_cpu; ++i) {
        take_over_im2col(*graph.nodes[i]);
    }
}

ggml_cgraph* GraphParts::next() noexcept {
    if (pieces_.is_open()) {
        return next_piece();
    }
    const int from = at_;
    cost_ = 0;
    for (; at_ < graph_.n_nodes && cost_ < most_; ++at_) {
        auto& node = *graph_.nodes[at_];
        const auto cost = cost_of(node);
        if (on_cpu_ && cost > kLongNode) {
            if (at_ != from) { // the nodes before it are a part
                break;
            }
            if (pieces_.begin(node, cost, kMost)) {
                ++at_;
                return next_piece();
            }
        }
        cost_ += cost;
    }
    part_ = ggml_graph_view(&graph_, from, at_);
    return from != at_ ? &part_ : nullptr;
}

ggml_cgraph* GraphParts::next_piece() noexcept {
    piece_ = pieces_.next();
    cost_ = pieces_.cost();
    part_ = ggml_graph_view(&graph_, 0, 0);
    part_.nodes = &piece_;
    part_.n_nodes = 1;
    return &part_;
}

} // namespace sotto::diffusion
