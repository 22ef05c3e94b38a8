// Cuts a graph into parts that are computed one after another, so that a step ends within the graph.
#pragma once

#include <ggml-impl.h>
#include <ggml.h>

#include "backends/diffusion/node_pieces.hpp"

namespace sotto::diffusion {

// Where a graph is cut depends on the graph alone, not on time: the same graph gives the same results.
class GraphParts {
public:
    // `graph` outlives this object. `on_cpu`: ggml's CPU backend computes it, so that long nodes are cut too,
    // and nodes may get kernels of this module.
    GraphParts(ggml_cgraph& graph, bool on_cpu) noexcept;

    // Returns the next part, valid until the next call; null after the last one.
    ggml_cgraph* next() noexcept;
    // Cost of the part that next() returned, in units.
    double cost() const noexcept { return cost_; }

private:
    ggml_cgraph* next_piece() noexcept;

    ggml_cgraph& graph_;
    const bool on_cpu_;
    const double most_; // cost of a part, in units, unless a single node costs more
    int at_ = 0;        // first node that is not part of an earlier part
    double cost_ = 0;
    ggml_cgraph part_;
    NodePieces pieces_; // of the node before `at_`
    ggml_tensor* piece_ = nullptr;
};

} // namespace sotto::diffusion
