// Cuts a node of a graph into pieces that are computed one after another, with the same results. The CPU
// backend of ggml computes them.
#pragma once

#include <array>
#include <cstdint>

#include <ggml.h>

namespace sotto::diffusion {

// How a node is cut: into ranges of one dimension.
struct NodeCut {
    static constexpr int kWhole = -1;

    int dimension = 0;                                     // of the node
    std::array<int, 3> sources = {kWhole, kWhole, kWhole}; // dimension of each operand that is cut with it
    std::int64_t grain = 1;                                // ranges are multiples of it
};

class NodePieces {
public:
    // Begins with a node that costs `cost` units, to cut it into pieces of about `most`. Returns false if the
    // node cannot be cut.
    bool begin(const ggml_tensor& node, double cost, double most) noexcept;
    // Returns true if pieces are left.
    bool is_open() const noexcept { return node_ != nullptr; }
    // Returns the next piece, valid until the next call.
    ggml_tensor* next() noexcept;
    // Cost of that piece, in units.
    double cost() const noexcept { return piece_cost_; }

private:
    const ggml_tensor* node_ = nullptr; // null: no piece is left
    NodeCut cut_;
    double node_cost_ = 0;
    double piece_cost_ = 0;
    std::int64_t done_ = 0;  // of the dimension
    std::int64_t count_ = 0; // of a piece
    ggml_tensor piece_{};
    std::array<ggml_tensor, 3> sources_{};
};

} // namespace sotto::diffusion
