// Products in bfloat16 with AMX, whose tile registers hold 16 x 16 sums: see kTileWeights.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto::llama {

struct Group;

constexpr int kTileColumns = 32; // columns of weights that multiply_tiles() takes at once

// Up to kTileColumns columns of weights in bfloat16.
struct TileWeights {
    const char* values;
    std::size_t apart; // bytes between columns
    int columns;
};

// Computes to[row * apart + column] for the rows of `count` groups. All groups but the last one have 16 rows.
// depth: a multiple of 32. Prefetches the weights that follow.
void multiply_tiles(
    const TileWeights& weights,
    const Group* groups,
    int count,
    std::int64_t depth,
    float* to,
    std::int64_t apart
);
// Frees the tile registers of this thread, so that the system does not save them.
void release_tiles();

} // namespace sotto::llama
