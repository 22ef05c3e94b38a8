#include "bf16_tiles.hpp"

#include <algorithm>

#include "bf16_groups.hpp"

namespace sotto::llama {
namespace {

// Tile registers: 0 to 3, sums of two tiles of weights by two groups; 4 and 5, weights; 6 and 7, groups.
struct alignas(64) TileShapes {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};

    void set(int tile, int height, int values) {
        rows[tile] = static_cast<std::uint8_t>(height);
        row_bytes[tile] = static_cast<std::uint16_t>(4 * values);
    }

    void load() const {
        __asm__ volatile("ldtilecfg %0" : : "m"(*this)); // gcc 12's _tile_loadconfig() reads 8 of 64 bytes
    }
};

void set_shapes(int columns, const Group* groups, int count) {
    TileShapes shapes;
    const int heights[] = {std::min(columns, kLanes), columns - std::min(columns, kLanes)};
    for (int a = 0; a < 2 && heights[a] > 0; ++a) {
        shapes.set(4 + a, heights[a], kLanes);
        for (int g = 0; g < count; ++g) {
            shapes.set(2 * a + g, heights[a], groups[g].rows);
            shapes.set(6 + g, kLanes, groups[g].rows);
        }
    }
    shapes.load();
}

void prefetch(const char* from, std::size_t apart, int columns) {
    for (int column = 0; column < columns; ++column) {
        _mm_prefetch(from + static_cast<std::size_t>(column) * apart, _MM_HINT_T1);
    }
}

// Computes the sums of `Tiles` tiles of weights by `Groups` groups, in the tile registers.
template <int Tiles, int Groups>
void add(const TileWeights& weights, const Group* groups, std::int64_t depth, bool prefetches) {
    const auto second = kLanes * weights.apart;
    const auto ahead = static_cast<std::size_t>(weights.columns) * weights.apart;
    _tile_zero(0);
    if constexpr (Groups == 2) {
        _tile_zero(1);
    }
    if constexpr (Tiles == 2) {
        _tile_zero(2);
    }
    if constexpr (Tiles == 2 && Groups == 2) {
        _tile_zero(3);
    }
    for (std::int64_t at = 0; at < depth; at += kVector) {
        const auto* values = weights.values + 2 * at;
        _tile_loadd(4, values, weights.apart);
        _tile_loadd(6, groups[0].pairs + at / 2 * groups[0].rows, 4 * groups[0].rows);
        _tile_dpbf16ps(0, 4, 6);
        if constexpr (Tiles == 2) {
            _tile_loadd(5, values + second, weights.apart);
            _tile_dpbf16ps(2, 5, 6);
        }
        if constexpr (Groups == 2) {
            _tile_loadd(7, groups[1].pairs + at / 2 * groups[1].rows, 4 * groups[1].rows);
            _tile_dpbf16ps(1, 4, 7);
        }
        if constexpr (Tiles == 2 && Groups == 2) {
            _tile_dpbf16ps(3, 5, 7);
        }
        if (prefetches) {
            prefetch(values + ahead, weights.apart, weights.columns);
        }
    }
}

// Sums of a tile, one row for each column of weights.
struct alignas(64) Sums {
    float values[kLanes * kLanes] = {};

    // Writes them to to[row * apart + column].
    void store(int rows, int columns, float* to, std::int64_t apart) const {
        __m512i v[kLanes];
        for (int i = 0; i < kLanes; ++i) {
            v[i] = _mm512_load_si512(values + i * kLanes);
        }
        transpose(v);
        for (int row = 0; row < rows; ++row) {
            _mm512_mask_storeu_epi32(to + row * apart, first(columns), v[row]);
        }
    }
};

constexpr int kSumBytes = 4 * kLanes; // of a row

template <int Groups>
void multiply(
    const TileWeights& weights,
    const Group* groups,
    std::int64_t depth,
    bool prefetches,
    float* to,
    std::int64_t apart
) {
    Sums sums;
    const int more = weights.columns - kLanes; // columns of the second tile
    more > 0 ? add<2, Groups>(weights, groups, depth, prefetches)
             : add<1, Groups>(weights, groups, depth, prefetches);
    auto* below = to + kLanes * apart;
    _tile_stored(0, sums.values, kSumBytes);
    sums.store(groups[0].rows, std::min(weights.columns, kLanes), to, apart);
    if constexpr (Groups == 2) {
        _tile_stored(1, sums.values, kSumBytes);
        sums.store(groups[1].rows, std::min(weights.columns, kLanes), below, apart);
    }
    if (more > 0) {
        _tile_stored(2, sums.values, kSumBytes);
        sums.store(groups[0].rows, more, to + kLanes, apart);
        if constexpr (Groups == 2) {
            _tile_stored(3, sums.values, kSumBytes);
            sums.store(groups[1].rows, more, below + kLanes, apart);
        }
    }
}

} // namespace

void multiply_tiles(
    const TileWeights& weights,
    const Group* groups,
    int count,
    std::int64_t depth,
    float* to,
    std::int64_t apart
) {
    for (int g = 0; g < count; g += 2) {
        const int some = std::min(2, count - g);
        if (g == 0 || g + 2 >= count) { // only the last group may have fewer rows
            set_shapes(weights.columns, groups + g, some);
        }
        auto* rows = to + g * kLanes * apart;
        some == 2 ? multiply<2>(weights, groups + g, depth, g == 0, rows, apart)
                  : multiply<1>(weights, groups + g, depth, g == 0, rows, apart);
    }
}

void release_tiles() {
    _tile_release();
}

} // namespace sotto::llama
