// Attention on a processor: softmax(scale * Q K^T + mask) V, in one pass over K and V.
//
// FlashAttention (Dao et al., 2022) with an online softmax (Milakov and Gimelshein, 2018): keys are worked on
// in tiles of 64, and what a row has so far is scaled down where a later tile holds a larger score. Heads of
// queries that share a head of keys are rows of one block, so that K and V are read once for all of them.
//
// ggml_cpu_hooks.h puts it in the place of ggml's, which takes three times as long where a batch has fewer
// than 64 tokens, as pieces of prompts beside a game have, and for each token of an answer.
#include "attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "lanes.hpp"
#include "operands.hpp"
#include "product.hpp"

extern "C" void ggml_compute_forward_flash_attn_ext(const ggml_compute_params* params, ggml_tensor* dst);

namespace sotto::llama {
namespace {

constexpr int kFewRows = 4; // so many are worked on row by row, more of them side by side in lanes
constexpr int kAhead = 16;  // keys, that are fetched before they are needed
constexpr float kNothing = -std::numeric_limits<float>::infinity();

class Attention {
public:
    Attention(const Operands& operands, const Block& block, Scratch& scratch)
        : of_(operands), block_(block), in_(scratch), lanes_((block.rows + kLanes - 1) / kLanes * kLanes),
          by_row_(operands.rows() <= kFewRows) {}

    void compute() {
        gather_queries();
        in_.largest.fill(kNothing);
        in_.weights.fill(0);
        std::fill_n(in_.sums, (by_row_ ? block_.rows : lanes_) * of_.size_of_values(), 0.0F);
        for (std::int64_t key = 0; key < of_.keys(); key += kTile) {
            const auto count = static_cast<int>(std::min<std::int64_t>(kTile, of_.keys() - key));
            const auto masked = look_at_mask(key, count);
            if (masked == Masked::all) {
                continue;
            }
            score(key, count);
            cap_scores(count);
            if (masked == Masked::some) {
                add_mask(key, count);
            }
            soften(count);
            add_values(key, count);
        }
        add_sinks();
        hand_out();
    }

private:
    enum class Masked { none, some, all };

    std::int64_t token(int row) const { return (block_.first + row) / of_.group(); }
    std::int64_t head(int row) const {
        return block_.head * of_.group() + (block_.first + row) % of_.group();
    }
    template <typename T>
    static const T* at(const ggml_tensor* t, std::int64_t i1, std::int64_t i2, std::int64_t i3) {
        return reinterpret_cast<const T*>(
            static_cast<const char*>(t->data) + i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3]
        );
    }
    const ggml_fp16_t* key_at(std::int64_t key) const {
        return at<ggml_fp16_t>(of_.k, key, block_.head, block_.stream);
    }
    const ggml_fp16_t* value_at(std::int64_t key) const {
        return at<ggml_fp16_t>(of_.v, key, block_.head, block_.stream);
    }
    const ggml_fp16_t* mask_at(std::int64_t token, std::int64_t key) const {
        return at<ggml_fp16_t>(of_.mask, token, 0, block_.stream % of_.mask->ne[3]) + key;
    }
    // Where the score of a row and a key of the tile is: rows beside each other, or keys.
    float& score_of(int row, int key) { return in_.scores[by_row_ ? row * kTile + key : key * lanes_ + row]; }

    // By row as they are, else with rows beside each other.
    void gather_queries() {
        const auto size = of_.size_of_keys();
        if (!by_row_) {
            std::fill_n(in_.queries, size * lanes_, 0.0F);
        }
        for (int row = 0; row < block_.rows; ++row) {
            const auto* from = at<float>(of_.q, token(row), head(row), block_.stream);
            for (std::int64_t i = 0; i < size; ++i) {
                in_.queries[by_row_ ? row * size + i : i * lanes_ + row] = from[i] * of_.scale;
            }
        }
    }

    Masked look_at_mask(std::int64_t key, int count) const {
        constexpr ggml_fp16_t kShut = 0xFC00; // minus infinity
        if (of_.mask == nullptr) {
            return Masked::none;
        }
        std::uint32_t others = 0;
        std::uint32_t set = 0;
        for (auto one = token(0); one <= token(block_.rows - 1); ++one) {
            const auto* mask = mask_at(one, key);
            for (int i = 0; i < count; ++i) {
                others |= static_cast<std::uint32_t>(mask[i] ^ kShut);
                set |= mask[i];
            }
        }
        return others == 0 ? Masked::all : set == 0 ? Masked::none : Masked::some;
    }

    void score(std::int64_t key, int count) {
        if (by_row_) {
            switch (block_.rows) {
            case 1:
                return score_rows<1>(key, count);
            case 2:
                return score_rows<2>(key, count);
            case 3:
                return score_rows<3>(key, count);
            default:
                return score_rows<4>(key, count);
            }
        }
        const auto size = of_.size_of_keys();
        fill_tile(key, count, size, [&](std::int64_t one) { return key_at(one); });
        multiply({in_.tile, size, 1, in_.queries, in_.scores, lanes_}, count, size, false);
    }

    template <int Rows>
    void score_rows(std::int64_t key, int count) {
        constexpr int kAtOnce = Rows == 1 ? 4 : 2;
        int i = 0;
        for (; i + kAtOnce <= count; i += kAtOnce) {
            score_keys<Rows, kAtOnce>(key, i);
        }
        for (; i < count; ++i) {
            score_keys<Rows, 1>(key, i);
        }
    }

    template <int Rows, int Keys>
    void score_keys(std::int64_t key, int first) {
        const auto size = of_.size_of_keys();
        Floats sums[Rows][Keys] = {};
        const auto apart = static_cast<std::int64_t>(of_.k->nb[1] / sizeof(ggml_fp16_t));
        const auto* const keys = key_at(key + first);
        const auto* const queries = in_.queries;
        for (int i = 0; i < Keys; ++i) {
            fetch(keys + (kAhead + i) * apart, size);
        }
        for (std::int64_t at = 0; at < size; at += kLanes) {
            Floats part[Keys];
            for (int i = 0; i < Keys; ++i) {
                part[i] = load(keys + i * apart + at);
            }
            for (int row = 0; row < Rows; ++row) {
                const auto query = load(queries + row * size + at);
                for (int i = 0; i < Keys; ++i) {
                    sums[row][i] += query * part[i];
                }
            }
        }
        for (int row = 0; row < Rows; ++row) {
            for (int i = 0; i < Keys; ++i) {
                in_.scores[row * kTile + first + i] = total(sums[row][i]);
            }
        }
    }

    template <typename From>
    void fill_tile(std::int64_t key, int count, std::int64_t size, From from) {
        for (int i = 0; i < count; ++i) {
            const auto* halves = from(key + i);
            auto* to = in_.tile + i * size;
            for (std::int64_t at = 0; at < size; at += kLanes) {
                store(to + at, load(halves + at));
            }
        }
    }

    void cap_scores(int count) {
        if (of_.cap == 0) {
            return;
        }
        const auto size = by_row_ ? block_.rows * kTile : count * lanes_;
        for (int i = 0; i < size; ++i) {
            in_.scores[i] = of_.cap * std::tanh(in_.scores[i]);
        }
    }

    void add_mask(std::int64_t key, int count) {
        for (int row = 0; row < block_.rows; ++row) {
            const auto slope = of_.slope(head(row));
            const auto* mask = mask_at(token(row), key);
            for (int i = 0; i < count; ++i) {
                score_of(row, i) += slope * GGML_CPU_FP16_TO_FP32(mask[i]);
            }
        }
    }

    // Scores become what values count; what was summed up before shrinks where one is larger than all before.
    void soften(int count) {
        if (by_row_) {
            for (int row = 0; row < block_.rows; ++row) {
                soften_row(row, count);
            }
        } else {
            for (int lane = 0; lane < lanes_; lane += kLanes) {
                soften_lanes(lane, count);
            }
        }
    }

    void soften_row(int row, int count) {
        auto* scores = in_.scores + row * kTile;
        std::fill(scores + count, scores + kTile, kNothing);
        auto most = all(in_.largest[static_cast<std::size_t>(row)]);
        for (int i = 0; i < kTile; i += kLanes) {
            most = larger(load(scores + i), most);
        }
        float largest = most[0];
        for (int i = 1; i < kLanes; ++i) {
            largest = std::max(largest, most[i]);
        }
        const auto base = largest == kNothing ? 0 : largest;
        Floats sum = {};
        for (int i = 0; i < kTile; i += kLanes) {
            const auto counts = exponential(load(scores + i) - base);
            store(scores + i, counts);
            sum += counts;
        }
        keep_largest(row, largest, std::exp(in_.largest[static_cast<std::size_t>(row)] - base), total(sum));
    }

    void keep_largest(int row, float largest, float shrink, float sum) {
        const auto at = static_cast<std::size_t>(row);
        in_.largest[at] = largest;
        in_.shrink[at] = shrink;
        in_.weights[at] = in_.weights[at] * shrink + sum;
    }

    void soften_lanes(int lane, int count) {
        auto* scores = in_.scores + lane;
        const auto before = load(in_.largest.data() + lane);
        auto most = before;
        for (int i = 0; i < count; ++i) {
            most = larger(load(scores + i * lanes_), most);
        }
        const auto base = select(most == all(kNothing), Floats{}, most);
        Floats sum = {};
        for (int i = 0; i < count; ++i) {
            const auto counts = exponential(load(scores + i * lanes_) - base);
            store(scores + i * lanes_, counts);
            sum += counts;
        }
        const auto shrink = exponential(before - base);
        store(in_.largest.data() + lane, most);
        store(in_.shrink.data() + lane, shrink);
        store(in_.weights.data() + lane, load(in_.weights.data() + lane) * shrink + sum);
    }

    void add_values(std::int64_t key, int count) {
        const auto size = of_.size_of_values();
        if (by_row_) {
            for (int row = 0; row < block_.rows; ++row) {
                add_values_to_row(row, key, count);
            }
            return;
        }
        for (int lane = 0; lane < lanes_; lane += kLanes) {
            const auto shrink = load(in_.shrink.data() + lane);
            for (std::int64_t i = 0; i < size; ++i) {
                auto* sums = in_.sums + i * lanes_ + lane;
                store(sums, load(sums) * shrink);
            }
        }
        fill_tile(key, count, size, [&](std::int64_t one) { return value_at(one); });
        multiply({in_.tile, 1, size, in_.scores, in_.sums, lanes_}, size, count, true);
    }

    void add_values_to_row(int row, std::int64_t key, int count) {
        constexpr int kAtOnce = 8;
        const auto size = of_.size_of_values();
        std::int64_t i = 0;
        for (; i + kAtOnce * kLanes <= size; i += kAtOnce * kLanes) {
            add_part_of_values<kAtOnce>(row, key, count, i);
        }
        for (; i < size; i += kLanes) {
            add_part_of_values<1>(row, key, count, i);
        }
    }

    template <int Parts>
    void add_part_of_values(int row, std::int64_t key, int count, std::int64_t first) {
        auto* sums = in_.sums + row * of_.size_of_values() + first;
        const auto* counts = in_.scores + row * kTile;
        Floats parts[Parts];
        for (int p = 0; p < Parts; ++p) {
            parts[p] = load(sums + p * kLanes) * in_.shrink[static_cast<std::size_t>(row)];
        }
        const auto apart = static_cast<std::int64_t>(of_.v->nb[1] / sizeof(ggml_fp16_t));
        const auto* value = value_at(key) + first;
        for (int i = 0; i < count; ++i, value += apart) {
            fetch(value + kAhead * apart, Parts * kLanes);
            for (int p = 0; p < Parts; ++p) {
                parts[p] += load(value + p * kLanes) * counts[i];
            }
        }
        for (int p = 0; p < Parts; ++p) {
            store(sums + p * kLanes, parts[p]);
        }
    }

    void add_sinks() {
        if (of_.sinks == nullptr) {
            return;
        }
        for (int row = 0; row < block_.rows; ++row) {
            const auto sink = static_cast<const float*>(of_.sinks->data)[head(row)];
            const auto before = in_.largest[static_cast<std::size_t>(row)];
            const auto largest = std::max(before, sink);
            const auto shrink = std::exp(before - largest);
            keep_largest(row, largest, shrink, std::exp(sink - largest));
            for (std::int64_t i = 0; i < of_.size_of_values(); ++i) {
                sum_of(row, i) *= shrink;
            }
        }
    }

    float& sum_of(int row, std::int64_t i) {
        return in_.sums[by_row_ ? row * of_.size_of_values() + i : i * lanes_ + row];
    }

    void hand_out() {
        for (int row = 0; row < block_.rows; ++row) {
            auto* to = const_cast<float*>(at<float>(of_.dst, head(row), token(row), block_.stream));
            const auto weight = in_.weights[static_cast<std::size_t>(row)];
            const auto part = weight == 0 ? 0 : 1 / weight;
            for (std::int64_t i = 0; i < of_.size_of_values(); ++i) {
                to[i] = sum_of(row, i) * part;
            }
        }
    }

    const Operands& of_;
    const Block& block_;
    Scratch& in_;
    const int lanes_;   // rows, rounded up
    const bool by_row_; // depends on the batch alone, so that results do not on how many threads there are
};

} // namespace
} // namespace sotto::llama

void sotto_flash_attention(const ggml_compute_params* params, ggml_tensor* dst) {
    using namespace sotto::llama;
    const Operands of(dst);
    const auto size = Scratch::size(of);
    const Blocks blocks(of, params->nth);
    const bool fits = params->wsize >= size * sizeof(float) * static_cast<std::size_t>(params->nth);
    if (params->use_ref || !of.can_be_computed() || !fits || 2 * blocks.count() < params->nth) {
        ggml_compute_forward_flash_attn_ext(params, dst); // one token and many threads: they share its keys
        return;
    }
    if (params->ith == 0) {
        ggml_threadpool_chunk_set(params->threadpool, params->nth);
    }
    ggml_barrier(params->threadpool);
    auto* const room = static_cast<float*>(params->wdata) + size * static_cast<std::size_t>(params->ith);
    Scratch scratch(room, of);
    for (std::int64_t number = params->ith; number < blocks.count();
         number = ggml_threadpool_chunk_add(params->threadpool, 1)) {
        Attention(of, blocks.at(number), scratch).compute();
    }
}
