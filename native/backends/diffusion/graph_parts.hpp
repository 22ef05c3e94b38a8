// Cuts a graph into parts that are computed one after another, so that a step ends within the graph.
#pragma once

#include <cstdint>

#include <ggml-impl.h>
#include <ggml.h>

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
    ggml_cgraph* next_nodes() noexcept;
    ggml_cgraph* next_piece() noexcept;
    bool begin_pieces(ggml_tensor& node) noexcept;

    // A node, of which rows along one dimension are computed at a time.
    struct Split {
        ggml_tensor* node = nullptr; // null: none is being cut
        int dimension = 0;           // of the node
        int source = 0;              // operand that is cut with it
        int source_dimension = 0;
        std::int64_t done = 0; // rows
        std::int64_t rows = 0; // of a piece
    };

    ggml_cgraph& graph_;
    const bool splits_nodes_;
    const double most_; // cost of a part, in units, unless a single node costs more
    int at_ = 0;        // first node that is not part of an earlier part
    double cost_ = 0;
    ggml_cgraph part_;
    Split split_;
    ggml_tensor piece_{};
    ggml_tensor piece_source_{};
    ggml_tensor* piece_node_ = &piece_;
};

} // namespace sotto::diffusion
