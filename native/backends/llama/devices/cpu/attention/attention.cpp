// Attention on a CPU: softmax(scale * Q K^T + mask) V, in one pass over K and V.
//
// FlashAttention (Dao et al., 2022) with online softmax (Milakov and Gimelshein,
// 2018): processes K and V in tiles of 64 keys and rescales a row's running sums
// when a tile raises the row's maximum. Query heads that share a KV head (GQA)
// become rows of one block, so that K and V are read once for the whole group.
//
// ggml_cpu_hooks.h replaces ggml's kernel with this one. ggml's kernel takes three times as long
// for batches of fewer than 64 tokens (prefill pieces beside a game) and is slower in decode.
#include "attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "block_view.hpp"
#include "lanes.hpp"
#include "online_softmax.hpp"
#include "operands.hpp"
#include "product.hpp"

extern "C" void ggml_compute_forward_flash_attn_ext(const ggml_compute_params* params, ggml_tensor* dst);

namespace sotto::llama {
namespace {

constexpr int kPrefetchKeys = 16; // prefetch distance, in keys

class Attention {
public:
    Attention(const Operands& operands, const Block& block, const Scratch& scratch)
        : operands_(operands), view_(operands, block), scratch_(scratch),
          softmax_(scratch.scores, block.rows, view_.by_row() ? 0 : view_.lanes()) {}

    void compute() {
        gather_queries();
        std::fill_n(
            scratch_.sums, (view_.by_row() ? view_.rows() : view_.lanes()) * operands_.size_of_values(), 0.0F
        );
        for (std::int64_t key = 0; key < operands_.keys(); key += kTile) {
            const auto count = static_cast<int>(std::min<std::int64_t>(kTile, operands_.keys() - key));
            if (const auto seen = seen_keys(key, count); seen.count > 0) {
                attend(key + seen.first, seen.count, seen.masked);
            }
        }
        add_sinks();
        write_output();
    }

private:
    struct Seen {
        int first;
        int count;
        bool masked; // for some of the rows
    };

    void attend(std::int64_t key, int count, bool masked) {
        score(key, count);
        apply_softcap(count);
        if (masked) {
            add_mask(key, count);
        }
        softmax_.update(count);
        accumulate_values(key, count);
    }

    // Score of (row, key). Layout: [row][key] if view_.by_row(), else [key][row].
    float& score_of(int row, int key) {
        return scratch_.scores[view_.by_row() ? row * kTile + key : key * view_.lanes() + row];
    }

    // Copies the scaled queries. Layout: [row][element] if view_.by_row(), else [element][row].
    void gather_queries() {
        const auto size = operands_.size_of_keys();
        if (!view_.by_row()) {
            std::fill_n(scratch_.queries, size * view_.lanes(), 0.0F);
        }
        for (int row = 0; row < view_.rows(); ++row) {
            const auto* from = view_.query(row);
            for (std::int64_t i = 0; i < size; ++i) {
                scratch_.queries[view_.by_row() ? row * size + i : i * view_.lanes() + row] =
                    from[i] * operands_.scale;
            }
        }
    }

    // Returns the keys of a tile from the first to the last one that is not masked for all rows. In a batch
    // of several sequences, a row sees only the keys of its own.
    Seen seen_keys(std::int64_t key, int count) const {
        constexpr ggml_fp16_t kMasked = 0xFC00; // minus infinity, as f16
        if (operands_.mask == nullptr) {
            return {0, count, false};
        }
        ggml_fp16_t others[kTile] = {};
        ggml_fp16_t set = 0;
        for (auto one = view_.token(0); one <= view_.token(view_.rows() - 1); ++one) {
            const auto* mask = view_.mask(one, key);
            for (int i = 0; i < count; ++i) {
                others[i] = static_cast<ggml_fp16_t>(others[i] | (mask[i] ^ kMasked));
                set = static_cast<ggml_fp16_t>(set | mask[i]);
            }
        }
        int first = 0;
        while (first < count && others[first] == 0) {
            ++first;
        }
        while (count > first && others[count - 1] == 0) {
            --count;
        }
        return {first, count - first, set != 0};
    }

    void score(std::int64_t key, int count) {
        if (view_.by_row()) {
            switch (view_.rows()) {
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
        const auto size = operands_.size_of_keys();
        load_tile(key, count, size, [&](std::int64_t one) { return view_.key(one); });
        multiply(
            {scratch_.tile, size, 1, scratch_.queries, scratch_.scores, view_.lanes()}, count, size, false
        );
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
        const auto size = operands_.size_of_keys();
        Floats sums[Rows][Keys] = {};
        const auto apart = static_cast<std::int64_t>(operands_.k->nb[1] / sizeof(ggml_fp16_t));
        const auto* const keys = view_.key(key + first);
        const auto* const queries = scratch_.queries;
        for (int i = 0; i < Keys; ++i) {
            prefetch(keys + (kPrefetchKeys + i) * apart, size);
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
                scratch_.scores[row * kTile + first + i] = total(sums[row][i]);
            }
        }
    }

    template <typename From>
    void load_tile(std::int64_t key, int count, std::int64_t size, From from) {
        for (int i = 0; i < count; ++i) {
            const auto* halves = from(key + i);
            auto* to = scratch_.tile + i * size;
            for (std::int64_t at = 0; at < size; at += kLanes) {
                store(to + at, load(halves + at));
            }
        }
    }

    void apply_softcap(int count) {
        if (operands_.softcap == 0) {
            return;
        }
        const auto size = view_.by_row() ? view_.rows() * kTile : count * view_.lanes();
        for (int i = 0; i < size; ++i) {
            scratch_.scores[i] = operands_.softcap * std::tanh(scratch_.scores[i]);
        }
    }

    void add_mask(std::int64_t key, int count) {
        for (int row = 0; row < view_.rows(); ++row) {
            const auto slope = operands_.slope(view_.head(row));
            const auto* mask = view_.mask(view_.token(row), key);
            for (int i = 0; i < count; ++i) {
                score_of(row, i) += slope * GGML_CPU_FP16_TO_FP32(mask[i]);
            }
        }
    }

    void accumulate_values(std::int64_t key, int count) {
        const auto size = operands_.size_of_values();
        if (view_.by_row()) {
            for (int row = 0; row < view_.rows(); ++row) {
                accumulate_row(row, key, count);
            }
            return;
        }
        for (int lane = 0; lane < view_.lanes(); lane += kLanes) {
            const auto rescale = softmax_.rescale_lanes(lane);
            for (std::int64_t i = 0; i < size; ++i) {
                auto* sums = scratch_.sums + i * view_.lanes() + lane;
                store(sums, load(sums) * rescale);
            }
        }
        load_tile(key, count, size, [&](std::int64_t one) { return view_.value(one); });
        multiply({scratch_.tile, 1, size, scratch_.scores, scratch_.sums, view_.lanes()}, size, count, true);
    }

    void accumulate_row(int row, std::int64_t key, int count) {
        constexpr int kAtOnce = 8;
        const auto size = operands_.size_of_values();
        std::int64_t i = 0;
        for (; i + kAtOnce * kLanes <= size; i += kAtOnce * kLanes) {
            accumulate_chunk<kAtOnce>(row, key, count, i);
        }
        for (; i < size; i += kLanes) {
            accumulate_chunk<1>(row, key, count, i);
        }
    }

    template <int Parts>
    void accumulate_chunk(int row, std::int64_t key, int count, std::int64_t first) {
        auto* sums = scratch_.sums + row * operands_.size_of_values() + first;
        const auto* counts = scratch_.scores + row * kTile;
        Floats parts[Parts];
        for (int p = 0; p < Parts; ++p) {
            parts[p] = load(sums + p * kLanes) * softmax_.rescale(row);
        }
        const auto apart = static_cast<std::int64_t>(operands_.v->nb[1] / sizeof(ggml_fp16_t));
        const auto* value = view_.value(key) + first;
        for (int i = 0; i < count; ++i, value += apart) {
            prefetch(value + kPrefetchKeys * apart, Parts * kLanes);
            for (int p = 0; p < Parts; ++p) {
                parts[p] += load(value + p * kLanes) * counts[i];
            }
        }
        for (int p = 0; p < Parts; ++p) {
            store(sums + p * kLanes, parts[p]);
        }
    }

    void add_sinks() {
        if (operands_.sinks == nullptr) {
            return;
        }
        for (int row = 0; row < view_.rows(); ++row) {
            const auto sink = static_cast<const float*>(operands_.sinks->data)[view_.head(row)];
            const auto rescale = softmax_.add_sink(row, sink);
            for (std::int64_t i = 0; i < operands_.size_of_values(); ++i) {
                sum_of(row, i) *= rescale;
            }
        }
    }

    float& sum_of(int row, std::int64_t i) {
        return scratch_.sums[view_.by_row() ? row * operands_.size_of_values() + i : i * view_.lanes() + row];
    }

    void write_output() {
        for (int row = 0; row < view_.rows(); ++row) {
            auto* to = view_.output(row);
            const auto weight = softmax_.normalizer(row);
            const auto part = weight == 0 ? 0 : 1 / weight;
            for (std::int64_t i = 0; i < operands_.size_of_values(); ++i) {
                to[i] = sum_of(row, i) * part;
            }
        }
    }

    const Operands& operands_;
    const BlockView view_;
    const Scratch& scratch_;
    OnlineSoftmax softmax_;
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
        // ggml's kernel; for one token and many threads, it splits the keys between the threads
        ggml_compute_forward_flash_attn_ext(params, dst);
        return;
    }
    if (params->ith == 0) {
        ggml_threadpool_chunk_set(params->threadpool, params->nth);
    }
    ggml_barrier(params->threadpool);
    auto* const room = static_cast<float*>(params->wdata) + size * static_cast<std::size_t>(params->ith);
    const Scratch scratch(room, of);
    for (std::int64_t number = params->ith; number < blocks.count();
         number = ggml_threadpool_chunk_add(params->threadpool, 1)) {
        Attention(of, blocks.at(number), scratch).compute();
    }
}
