// Operands of GGML_OP_FLASH_ATTN_EXT, and the blocks of rows that threads process.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <ggml.h>

#include "lanes.hpp"

namespace sotto::llama {

constexpr int kTile = 64; // keys of a tile
constexpr int kRows = 64; // maximum rows of a block

// ggml's layout: q [DK, tokens, heads, streams], k and v [DK or DV, keys, heads, streams],
// mask [keys, tokens, 1, streams], dst [DV, heads, tokens, streams].
struct Operands {
    explicit Operands(ggml_tensor* to)
        : dst(to), q(to->src[0]), k(to->src[1]), v(to->src[2]), mask(to->src[3]), sinks(to->src[4]) {
        std::array<float, 3> params{};
        std::memcpy(params.data(), to->op_params, sizeof params);
        softcap = params[2];
        scale = softcap == 0 ? params[0] : params[0] / softcap;
        bias = params[1];
    }

    std::int64_t size_of_keys() const { return k->ne[0]; }
    std::int64_t size_of_values() const { return v->ne[0]; }
    std::int64_t tokens() const { return q->ne[1]; }
    std::int64_t keys() const { return k->ne[1]; }
    std::int64_t group() const { return q->ne[2] / k->ne[2]; } // query heads per KV head
    std::int64_t rows() const { return tokens() * group(); }   // query rows per KV head

    bool can_be_computed() const {
        const auto whole = [](std::int64_t size) { return size % kLanes == 0; };
        return q->type == GGML_TYPE_F32 && k->type == GGML_TYPE_F16 && v->type == GGML_TYPE_F16 &&
               whole(size_of_keys()) && whole(size_of_values()) && k->ne[2] == v->ne[2] &&
               q->ne[2] % k->ne[2] == 0 && k->ne[3] == q->ne[3] && v->ne[3] == q->ne[3] &&
               (mask == nullptr || (mask->ne[2] == 1 && q->ne[3] % mask->ne[3] == 0));
    }

    // Returns the ALiBi slope of a query head (Press et al., 2021); 1 without ALiBi.
    float slope(std::int64_t head) const {
        if (bias <= 0) {
            return 1;
        }
        const auto heads = static_cast<float>(q->ne[2]);
        const auto power = std::exp2(std::floor(std::log2(heads)));
        const auto at = static_cast<float>(head);
        return at < power ? std::exp2(-bias / power * (at + 1))
                          : std::exp2(-bias / 2 / power * (2 * (at - power) + 1));
    }

    ggml_tensor* dst;
    const ggml_tensor* q;
    const ggml_tensor* k;
    const ggml_tensor* v;
    const ggml_tensor* mask;
    const ggml_tensor* sinks; // attention sinks: per query head, a score without a value vector
    float scale = 1;
    float bias = 0;
    float softcap = 0; // scores become softcap * tanh(score / softcap); 0: off
};

// Consecutive query rows of one KV head. Row order: token, then query head of the group.
struct Block {
    std::int64_t stream;
    std::int64_t head;  // KV head
    std::int64_t first; // first row
    int rows;
};

// Divides an operation into blocks of rows, several per thread, so that a thread that loses its core delays
// little work.
class Blocks {
public:
    Blocks(const Operands& of, int threads) : rows_(of.rows()), heads_(of.k->ne[2]), streams_(of.q->ne[3]) {
        constexpr int kEach = 4;
        // minimum rows of a block; with fewer rows, converting K and V to f32 dominates
        constexpr int kMin = 16;
        while (most_ > kMin && count() < kEach * threads) {
            most_ /= 2;
        }
    }

    std::int64_t count() const { return streams_ * heads_ * per_head(); }
    Block at(std::int64_t number) const {
        const auto first = number % per_head() * most_;
        return {
            number / per_head() / heads_,
            number / per_head() % heads_,
            first,
            static_cast<int>(std::min<std::int64_t>(most_, rows_ - first))
        };
    }

private:
    std::int64_t per_head() const { return (rows_ + most_ - 1) / most_; }

    std::int64_t rows_;
    std::int64_t heads_;
    std::int64_t streams_;
    std::int64_t most_ = kRows;
};

// Scratch memory of one thread.
struct Scratch {
    // Returns the number of floats per thread. ggml_graph_plan() reserves at least as many, for ggml's own 64
    // x 64 tiles.
    static std::size_t size(const Operands& of) {
        const auto widest = std::max(of.size_of_keys(), of.size_of_values());
        const auto wide = of.size_of_keys() + of.size_of_values() + widest;
        return static_cast<std::size_t>(kRows * (wide + kTile));
    }

    Scratch(float* at, const Operands& of)
        : queries(at), sums(queries + kRows * of.size_of_keys()), scores(sums + kRows * of.size_of_values()),
          tile(scores + kRows * kTile) {}

    float* queries;
    float* sums;   // sums of values, weighted by e^(score - max)
    float* scores; // scores, replaced by e^(score - max)
    float* tile;   // a tile of K or V, as f32
};

} // namespace sotto::llama
