// What attention is computed of, and how it is divided.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <ggml.h>

#include "lanes.hpp"

namespace sotto::llama {

constexpr int kTile = 64; // keys
constexpr int kRows = 64; // at most, of a block

// The operands, as ggml has them: q [DK, tokens, heads, streams], k and v [DK or DV, keys, heads, streams],
// mask [keys, tokens, 1, streams], dst [DV, heads, tokens, streams].
struct Operands {
    explicit Operands(ggml_tensor* to)
        : dst(to), q(to->src[0]), k(to->src[1]), v(to->src[2]), mask(to->src[3]), sinks(to->src[4]) {
        std::array<float, 3> told{};
        std::memcpy(told.data(), to->op_params, sizeof told);
        cap = told[2];
        scale = cap == 0 ? told[0] : told[0] / cap;
        bias = told[1];
    }

    std::int64_t size_of_keys() const { return k->ne[0]; }
    std::int64_t size_of_values() const { return v->ne[0]; }
    std::int64_t tokens() const { return q->ne[1]; }
    std::int64_t keys() const { return k->ne[1]; }
    std::int64_t group() const { return q->ne[2] / k->ne[2]; } // heads that share one of k and v
    std::int64_t rows() const { return tokens() * group(); }   // that share one of k and v

    bool can_be_computed() const {
        const auto whole = [](std::int64_t size) { return size % kLanes == 0; };
        return q->type == GGML_TYPE_F32 && k->type == GGML_TYPE_F16 && v->type == GGML_TYPE_F16 &&
               whole(size_of_keys()) && whole(size_of_values()) && k->ne[2] == v->ne[2] &&
               q->ne[2] % k->ne[2] == 0 && k->ne[3] == q->ne[3] && v->ne[3] == q->ne[3] &&
               (mask == nullptr || (mask->ne[2] == 1 && q->ne[3] % mask->ne[3] == 0));
    }

    // What a mask counts for, by head: ALiBi's slopes (Press et al., 2021).
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
    const ggml_tensor* sinks; // of each head: a score that takes its part of the softmax, and has no value
    float scale = 1;
    float bias = 0;
    float cap = 0; // scores are cap * tanh(score / cap); 0: as they are
};

// Rows of one head of keys: those of a token lie beside each other, one for each head that shares it.
struct Block {
    std::int64_t stream;
    std::int64_t head;  // of keys
    std::int64_t first; // row
    int rows;
};

// All blocks of an operation, so many rows each that every thread finds several.
class Blocks {
public:
    Blocks(const Operands& of, int threads) : rows_(of.rows()), heads_(of.k->ne[2]), streams_(of.q->ne[3]) {
        constexpr int kEach = 4;
        constexpr int kLeast = 16; // rows, which share what it takes to read a tile
        while (most_ > kLeast && count() < kEach * threads) {
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

// What a thread works in.
struct Scratch {
    // In floats. ggml plans no less for its own tiles of 64 x 64, in ggml_graph_plan().
    static std::size_t size(const Operands& of) {
        const auto widest = std::max(of.size_of_keys(), of.size_of_values());
        const auto wide = of.size_of_keys() + of.size_of_values() + widest;
        return static_cast<std::size_t>(kRows * (wide + kTile));
    }

    Scratch(float* at, const Operands& of)
        : queries(at), sums(queries + kRows * of.size_of_keys()), scores(sums + kRows * of.size_of_values()),
          tile(scores + kRows * kTile) {}

    float* queries;
    float* sums;   // of values, by how much they count
    float* scores; // and what they come to: e^(score - largest)
    float* tile;   // of keys or values, as floats
    std::array<float, kRows> largest{};
    std::array<float, kRows> weights{}; // sums of what values count
    std::array<float, kRows> shrink{};
};

} // namespace sotto::llama
