// Attention on a CPU: softmax(scale * Q K^T + mask) V, in one pass over K and V.
//
// FlashAttention (Dao et al., 2022) with online softmax (Milakov and Gimelshein, 2018): processes K and V in
// tiles of 64 keys and rescales a row's running sums when a tile raises the row's maximum. Query heads that
// share a KV head (GQA) become rows of one block, so that K and V are read once for the whole group.
//
// ggml_cpu_hooks.h replaces ggml's kernel with this one. ggml's takes three times as long for batches of less
// than 64 tokens (prefill pieces beside a game) and is slower in decode.
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

constexpr int kMaxRowsOneByOne = 4; // above, SIMD lanes hold rows, not elements of a row
constexpr int kPrefetchKeys = 16;   // prefetch distance, in keys
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

class Attention {
public:
    Attention(const Operands& operands, const Block& block, Scratch& scratch)
        : operands_(operands), block_(block), scratch_(scratch),
          lanes_((block.rows + kLanes - 1) / kLanes * kLanes), by_row_(operands.rows() <= kMaxRowsOneByOne) {}

    void compute() {
        gather_queries();
        scratch_.max.fill(kMinusInfinity);
        scratch_.normalizers.fill(0);
        std::fill_n(scratch_.sums, (by_row_ ? block_.rows : lanes_) * operands_.size_of_values(), 0.0F);
        for (std::int64_t key = 0; key < operands_.keys(); key += kTile) {
            const auto count = static_cast<int>(std::min<std::int64_t>(kTile, operands_.keys() - key));
            const auto masked = classify_mask(key, count);
            if (masked == Masked::all) {
                continue;
            }
            score(key, count);
            apply_softcap(count);
            if (masked == Masked::some) {
                add_mask(key, count);
            }
            update_softmax(count);
            accumulate_values(key, count);
        }
        add_sinks();
        write_output();
    }

private:
    enum class Masked { none, some, all };

    std::int64_t token(int row) const { return (block_.first + row) / operands_.group(); }
    std::int64_t head(int row) const {
        return block_.head * operands_.group() + (block_.first + row) % operands_.group();
    }
    template <typename T>
    static const T* at(const ggml_tensor* t, std::int64_t i1, std::int64_t i2, std::int64_t i3) {
        return reinterpret_cast<const T*>(
            static_cast<const char*>(t->data) + i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3]
        );
    }
    const ggml_fp16_t* key_at(std::int64_t key) const {
        return at<ggml_fp16_t>(operands_.k, key, block_.head, block_.stream);
    }
    const ggml_fp16_t* value_at(std::int64_t key) const {
        return at<ggml_fp16_t>(operands_.v, key, block_.head, block_.stream);
    }
    const ggml_fp16_t* mask_at(std::int64_t token, std::int64_t key) const {
        return at<ggml_fp16_t>(operands_.mask, token, 0, block_.stream % operands_.mask->ne[3]) + key;
    }
    // Score of (row, key). Layout: [row][key] if by_row_, else [key][row].
    float& score_of(int row, int key) {
        return scratch_.scores[by_row_ ? row * kTile + key : key * lanes_ + row];
    }

    // Copies the scaled queries. Layout: [row][element] if by_row_, else [element][row].
    void gather_queries() {
        const auto size = operands_.size_of_keys();
        if (!by_row_) {
            std::fill_n(scratch_.queries, size * lanes_, 0.0F);
        }
        for (int row = 0; row < block_.rows; ++row) {
            const auto* from = at<float>(operands_.q, token(row), head(row), block_.stream);
            for (std::int64_t i = 0; i < size; ++i) {
                scratch_.queries[by_row_ ? row * size + i : i * lanes_ + row] = from[i] * operands_.scale;
            }
        }
    }

    Masked classify_mask(std::int64_t key, int count) const {
        constexpr ggml_fp16_t kMasked = 0xFC00; // minus infinity, as f16
        if (operands_.mask == nullptr) {
            return Masked::none;
        }
        std::uint32_t others = 0;
        std::uint32_t set = 0;
        for (auto one = token(0); one <= token(block_.rows - 1); ++one) {
            const auto* mask = mask_at(one, key);
            for (int i = 0; i < count; ++i) {
                others |= static_cast<std::uint32_t>(mask[i] ^ kMasked);
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
        const auto size = operands_.size_of_keys();
        load_tile(key, count, size, [&](std::int64_t one) { return key_at(one); });
        multiply({scratch_.tile, size, 1, scratch_.queries, scratch_.scores, lanes_}, count, size, false);
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
        const auto* const keys = key_at(key + first);
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
        const auto size = by_row_ ? block_.rows * kTile : count * lanes_;
        for (int i = 0; i < size; ++i) {
            scratch_.scores[i] = operands_.softcap * std::tanh(scratch_.scores[i]);
        }
    }

    void add_mask(std::int64_t key, int count) {
        for (int row = 0; row < block_.rows; ++row) {
            const auto slope = operands_.slope(head(row));
            const auto* mask = mask_at(token(row), key);
            for (int i = 0; i < count; ++i) {
                score_of(row, i) += slope * GGML_CPU_FP16_TO_FP32(mask[i]);
            }
        }
    }

    // Turns scores into e^(score - max); updates each row's maximum, normalizer and rescale factor.
    void update_softmax(int count) {
        if (by_row_) {
            for (int row = 0; row < block_.rows; ++row) {
                softmax_row(row, count);
            }
        } else {
            for (int lane = 0; lane < lanes_; lane += kLanes) {
                softmax_lanes(lane, count);
            }
        }
    }

    void softmax_row(int row, int count) {
        auto* scores = scratch_.scores + row * kTile;
        std::fill(scores + count, scores + kTile, kMinusInfinity);
        auto most = all(scratch_.max[static_cast<std::size_t>(row)]);
        for (int i = 0; i < kTile; i += kLanes) {
            most = max_of(load(scores + i), most);
        }
        float max = most[0];
        for (int i = 1; i < kLanes; ++i) {
            max = std::max(max, most[i]);
        }
        const auto base = max == kMinusInfinity ? 0 : max;
        Floats sum = {};
        for (int i = 0; i < kTile; i += kLanes) {
            const auto counts = exponential(load(scores + i) - base);
            store(scores + i, counts);
            sum += counts;
        }
        update_row(row, max, std::exp(scratch_.max[static_cast<std::size_t>(row)] - base), total(sum));
    }

    void update_row(int row, float max, float rescale, float sum) {
        const auto at = static_cast<std::size_t>(row);
        scratch_.max[at] = max;
        scratch_.rescale[at] = rescale;
        scratch_.normalizers[at] = scratch_.normalizers[at] * rescale + sum;
    }

    void softmax_lanes(int lane, int count) {
        auto* scores = scratch_.scores + lane;
        const auto before = load(scratch_.max.data() + lane);
        auto most = before;
        for (int i = 0; i < count; ++i) {
            most = max_of(load(scores + i * lanes_), most);
        }
        const auto base = select(most == all(kMinusInfinity), Floats{}, most);
        Floats sum = {};
        for (int i = 0; i < count; ++i) {
            const auto counts = exponential(load(scores + i * lanes_) - base);
            store(scores + i * lanes_, counts);
            sum += counts;
        }
        const auto rescale = exponential(before - base);
        store(scratch_.max.data() + lane, most);
        store(scratch_.rescale.data() + lane, rescale);
        store(scratch_.normalizers.data() + lane, load(scratch_.normalizers.data() + lane) * rescale + sum);
    }

    void accumulate_values(std::int64_t key, int count) {
        const auto size = operands_.size_of_values();
        if (by_row_) {
            for (int row = 0; row < block_.rows; ++row) {
                accumulate_row(row, key, count);
            }
            return;
        }
        for (int lane = 0; lane < lanes_; lane += kLanes) {
            const auto rescale = load(scratch_.rescale.data() + lane);
            for (std::int64_t i = 0; i < size; ++i) {
                auto* sums = scratch_.sums + i * lanes_ + lane;
                store(sums, load(sums) * rescale);
            }
        }
        load_tile(key, count, size, [&](std::int64_t one) { return value_at(one); });
        multiply({scratch_.tile, 1, size, scratch_.scores, scratch_.sums, lanes_}, size, count, true);
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
            parts[p] = load(sums + p * kLanes) * scratch_.rescale[static_cast<std::size_t>(row)];
        }
        const auto apart = static_cast<std::int64_t>(operands_.v->nb[1] / sizeof(ggml_fp16_t));
        const auto* value = value_at(key) + first;
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
        for (int row = 0; row < block_.rows; ++row) {
            const auto sink = static_cast<const float*>(operands_.sinks->data)[head(row)];
            const auto before = scratch_.max[static_cast<std::size_t>(row)];
            const auto max = std::max(before, sink);
            const auto rescale = std::exp(before - max);
            update_row(row, max, rescale, std::exp(sink - max));
            for (std::int64_t i = 0; i < operands_.size_of_values(); ++i) {
                sum_of(row, i) *= rescale;
            }
        }
    }

    float& sum_of(int row, std::int64_t i) {
        return scratch_.sums[by_row_ ? row * operands_.size_of_values() + i : i * lanes_ + row];
    }

    void write_output() {
        for (int row = 0; row < block_.rows; ++row) {
            auto* to = const_cast<float*>(at<float>(operands_.dst, head(row), token(row), block_.stream));
            const auto weight = scratch_.normalizers[static_cast<std::size_t>(row)];
            const auto part = weight == 0 ? 0 : 1 / weight;
            for (std::int64_t i = 0; i < operands_.size_of_values(); ++i) {
                to[i] = sum_of(row, i) * part;
            }
        }
    }

    const Operands& operands_;
    const Block& block_;
    Scratch& scratch_;
    const int lanes_;   // rows, rounded up to whole vectors
    const bool by_row_; // depends on the batch only, so that results do not depend on the thread count
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
        ggml_compute_forward_flash_attn_ext(
            params, dst
        ); // for one token and many threads, splits the keys between them
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
