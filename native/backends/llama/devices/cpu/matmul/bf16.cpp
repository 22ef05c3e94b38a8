// Products in bfloat16, for weights in which that is precise enough: see kBf16Weights.
//
// ggml's kernel sums each product in 16 lanes and adds the lanes up at its end, which takes as long as the
// products themselves where the depth is a few hundred. Here each lane sums the products of another row:
// activations are packed so that the pairs of 16 rows are one vector, and a pair of weights is broadcast.
#include <algorithm>
#include <cstdint>

#include <immintrin.h>

#include <ggml-cpu/ggml-cpu-impl.h>

#include "bf16_groups.hpp"
#include "bf16_tiles.hpp"
#include "matmul.hpp"

namespace sotto::llama {
namespace {

constexpr int kColumns = 12;             // columns of a panel: with two groups, 24 of 32 registers hold sums
constexpr int kGroups = 16;              // groups of a block: a piece of their activations fits the L2 cache
constexpr int kBlock = kGroups * kLanes; // rows of a block
constexpr int kPiece = 512;              // depth of a panel's piece: the panel fits the L1 cache
constexpr int kColumnBytes = 2 * kPiece + 64; // a power of two would put all columns into the same cache sets

__m512i narrow(__m512 low, __m512 high) {
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

// Packs the rows of a group from rows of `depth` values that are `apart` values apart.
void pack(const Group& group, const float* from, std::int64_t apart, std::int64_t depth) {
    for (std::int64_t at = 0; at < depth; at += kVector) {
        __m512i v[kLanes] = {};
        for (int row = 0; row < group.rows; ++row) {
            const auto* values = from + row * apart + at;
            v[row] = narrow(_mm512_loadu_ps(values), _mm512_loadu_ps(values + kLanes));
        }
        transpose(v);
        for (int i = 0; i < kLanes; ++i) {
            _mm512_mask_storeu_epi32(group.pairs + (at / 2 + i) * group.rows, first(group.rows), v[i]);
        }
    }
}

// A piece of up to 12 columns of weights in bfloat16.
struct Panel {
    alignas(64) std::uint8_t bytes[kColumns * kColumnBytes];

    template <bool Half>
    void fill(const char* weights, std::size_t apart, int columns, int depth) {
        for (int column = 0; column < kColumns; ++column) {
            for (int at = 0; at < depth; at += kVector) {
                auto values = _mm512_setzero_si512();
                if (column < columns) {
                    const auto* from = weights + static_cast<std::size_t>(column) * apart + 2 * at;
                    values = Half ? narrow(widened(from), widened(from + kVector)) : _mm512_loadu_si512(from);
                }
                _mm512_store_si512(bytes + column * kColumnBytes + 2 * at, values);
            }
        }
    }

    static __m512 widened(const char* halves) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves)));
    }
};

// Walks through a piece of a panel's weights in memory, a cache line at a time.
class Ahead {
public:
    Ahead(const char* weights, std::size_t apart, int depth)
        : at_(weights), apart_(apart), lines_(depth / kVector), left_(lines_) {}

    void prefetch() {
        _mm_prefetch(at_, _MM_HINT_T1);
        at_ += 2 * kVector;
        if (--left_ == 0) {
            left_ = lines_;
            at_ += apart_ - static_cast<std::size_t>(lines_) * 2 * kVector;
        }
    }

private:
    const char* at_;
    std::size_t apart_;
    int lines_;
    int left_;
};

using Sums = __m512[kColumns]; // of a group: for each column, a lane for each row

// Adds the products of some depth, `pairs` pairs from pair `begin` of the groups on, to the groups' sums.
// Prefetches weights meanwhile.
template <int Groups>
void add(const Panel& panel, const Group* groups, std::int64_t begin, int pairs, Sums* to, Ahead ahead) {
    __m512 sums[Groups * kColumns]; // in registers: no loop over them remains
    const std::uint32_t* from[Groups];
#pragma GCC unroll 24
    for (int i = 0; i < Groups * kColumns; ++i) {
        sums[i] = to[i / kColumns][i % kColumns];
    }
    for (int g = 0; g < Groups; ++g) {
        from[g] = groups[g].pairs + begin * groups[g].rows;
    }
    for (int i = 0; i < pairs; ++i) {
        ahead.prefetch();
        __m512i rows[Groups];
#pragma GCC unroll 2
        for (int g = 0; g < Groups; ++g) {
            rows[g] = _mm512_maskz_loadu_epi32(first(groups[g].rows), from[g]);
            from[g] += groups[g].rows;
        }
#pragma GCC unroll 24
        for (int j = 0; j < Groups * kColumns; ++j) {
            const auto* pair = reinterpret_cast<const int*>(panel.bytes + j / Groups * kColumnBytes) + i;
            auto& sum = sums[j % Groups * kColumns + j / Groups];
            const auto weights = _mm512_set1_epi32(*pair);
            sum = _mm512_dpbf16_ps(sum, (__m512bh)rows[j % Groups], (__m512bh)weights);
        }
    }
#pragma GCC unroll 24
    for (int i = 0; i < Groups * kColumns; ++i) {
        to[i / kColumns][i % kColumns] = sums[i];
    }
}

// Writes the sums of a group to to[row * apart + column].
void store(const Sums& sums, int rows, int columns, float* to, std::int64_t apart) {
    __m512i v[kLanes];
    for (int column = 0; column < kLanes; ++column) {
        v[column] = column < kColumns ? _mm512_castps_si512(sums[column]) : _mm512_setzero_si512();
    }
    transpose(v);
    for (int row = 0; row < rows; ++row) {
        _mm512_mask_storeu_epi32(to + row * apart, first(columns), v[row]);
    }
}

// A product of matrices, whose parts are computed by all threads of ggml.
class Product {
public:
    Product(const ggml_compute_params& params, ggml_tensor& to)
        : params_(params), weights_(*to.src[0]), activations_(*to.src[1]), to_(static_cast<float*>(to.data)),
          depth_(weights_.ne[0]), columns_(weights_.ne[1]), rows_(ggml_nrows(&activations_)),
          in_tiles_((weights_.flags & kTileWeights) != 0 && weights_.type == GGML_TYPE_BF16) {}

    void compute() const {
        const auto wide = in_tiles_ ? kTileColumns : kColumns;
        const auto blocks = (rows_ + kBlock - 1) / kBlock;
        const auto panels = (columns_ + wide - 1) / wide;
        constexpr std::int64_t kParts = 4; // per thread: other threads take over the parts of a stalled one
        const auto ranges = std::clamp<std::int64_t>(kParts * params_.nth / blocks, 1, panels);
        if (params_.ith == 0) {
            ggml_threadpool_chunk_set(params_.threadpool, params_.nth);
        }
        for (std::int64_t row = params_.ith * kLanes; row < rows_; row += params_.nth * kLanes) {
            const auto* from = static_cast<const float*>(activations_.data) + row * depth_;
            pack(group(row), from, depth_, depth_);
        }
        ggml_barrier(params_.threadpool); // all groups are packed
        for (std::int64_t i = params_.ith; i < blocks * ranges;
             i = ggml_threadpool_chunk_add(params_.threadpool, 1)) {
            const auto range = i % ranges;
            for (auto p = panels * range / ranges; p < panels * (range + 1) / ranges; ++p) {
                in_tiles_ ? multiply_in_tiles(i / ranges * kBlock, p * wide)
                          : multiply(i / ranges * kBlock, p * wide);
            }
        }
        if (in_tiles_) {
            release_tiles();
        }
    }

private:
    Group group(std::int64_t row) const {
        auto* pairs = static_cast<std::uint32_t*>(params_.wdata) + row * depth_ / 2;
        return {pairs, static_cast<int>(std::min<std::int64_t>(kLanes, rows_ - row))};
    }

    // Returns the groups of the block of rows that begins at `row`.
    int groups_of(std::int64_t row, Group* groups) const {
        int count = 0;
        for (; count < kGroups && row + count * kLanes < rows_; ++count) {
            groups[count] = group(row + count * kLanes);
        }
        return count;
    }

    // Like multiply(), with AMX.
    void multiply_in_tiles(std::int64_t row, std::int64_t column) const {
        Group groups[kGroups];
        const int count = groups_of(row, groups);
        const auto columns = static_cast<int>(std::min<std::int64_t>(kTileColumns, columns_ - column));
        const TileWeights weights = {at(column, 0), weights_.nb[1], columns};
        multiply_tiles(weights, groups, count, depth_, to_ + row * columns_ + column, columns_);
    }

    // Multiplies the block of rows that begins at `row` by the panel that begins at `column`.
    void multiply(std::int64_t row, std::int64_t column) const {
        Panel panel;
        Group groups[kGroups];
        Sums sums[kGroups];
        const int count = groups_of(row, groups);
        for (int g = 0; g < count; ++g) {
            std::fill_n(sums[g], kColumns, _mm512_setzero_ps());
        }
        const auto columns = static_cast<int>(std::min<std::int64_t>(kColumns, columns_ - column));
        for (std::int64_t begin = 0; begin < depth_; begin += kPiece) {
            const auto depth = static_cast<int>(std::min<std::int64_t>(kPiece, depth_ - begin));
            fill(panel, column, columns, begin, depth);
            const auto ahead = next(column, begin);
            int g = 0;
            for (; g + 2 <= count; g += 2) {
                add<2>(panel, groups + g, begin / 2, depth / 2, sums + g, ahead);
            }
            if (g < count) {
                add<1>(panel, groups + g, begin / 2, depth / 2, sums + g, ahead);
            }
        }
        for (int g = 0; g < count; ++g) {
            store(sums[g], groups[g].rows, columns, to_ + (row + g * kLanes) * columns_ + column, columns_);
        }
    }

    const char* at(std::int64_t column, std::int64_t depth) const {
        const auto offset = column * static_cast<std::int64_t>(weights_.nb[1]) + 2 * depth;
        return static_cast<const char*>(weights_.data) + offset;
    }

    // Returns the piece that follows: of the same panel, or the first one of the next panel.
    Ahead next(std::int64_t column, std::int64_t begin) const {
        const bool last = begin + kPiece >= depth_;
        const auto* from = last ? at(column + kColumns, 0) : at(column, begin + kPiece);
        const auto depth = std::min<std::int64_t>(kPiece, last ? depth_ : depth_ - begin - kPiece);
        return {from, weights_.nb[1], static_cast<int>(depth)};
    }

    void fill(Panel& panel, std::int64_t column, int columns, std::int64_t begin, int depth) const {
        const auto apart = weights_.nb[1];
        const auto* from = at(column, begin);
        weights_.type == GGML_TYPE_F16 ? panel.fill<true>(from, apart, columns, depth)
                                       : panel.fill<false>(from, apart, columns, depth);
    }

    const ggml_compute_params& params_;
    const ggml_tensor& weights_;
    const ggml_tensor& activations_;
    float* to_;
    std::int64_t depth_;
    std::int64_t columns_;
    std::int64_t rows_;
    bool in_tiles_;
};

bool is_ours(const ggml_compute_params& params, const ggml_tensor& to) {
    const auto& weights = *to.src[0];
    const auto& activations = *to.src[1];
    return (weights.flags & kBf16Weights) != 0 && !params.use_ref &&
           (weights.type == GGML_TYPE_F16 || weights.type == GGML_TYPE_BF16) &&
           activations.type == GGML_TYPE_F32 && to.type == GGML_TYPE_F32 && weights.ne[0] % kVector == 0 &&
           ggml_is_matrix(&weights) && weights.nb[0] == 2 && ggml_is_contiguous(&activations) &&
           ggml_is_contiguous(&to) &&
           params.wsize >= 2 * static_cast<std::size_t>(ggml_nelements(&activations));
}

} // namespace
} // namespace sotto::llama

bool sotto_multiply_bf16(const ggml_compute_params* params, ggml_tensor* to) {
    using namespace sotto::llama;
    if (!is_ours(*params, *to)) {
        return false;
    }
    Product(*params, *to).compute();
    return true;
}
