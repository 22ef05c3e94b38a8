// Addresses of the query, key, value, mask and output rows that a block of flash attention uses.
#pragma once

#include <cstdint>

#include "operands.hpp"

namespace sotto::llama {

constexpr int kMaxRowsOneByOne = 4; // with more rows, SIMD lanes hold rows, not elements of a row

class BlockView {
public:
    BlockView(const Operands& operands, const Block& block)
        : operands_(operands), block_(block), lanes_((block.rows + kLanes - 1) / kLanes * kLanes),
          by_row_(operands.rows() <= kMaxRowsOneByOne) {}

    int rows() const { return block_.rows; }
    int lanes() const { return lanes_; }
    bool by_row() const { return by_row_; }

    std::int64_t token(int row) const { return (block_.first + row) / operands_.group(); }
    std::int64_t head(int row) const { // query head
        return block_.head * operands_.group() + (block_.first + row) % operands_.group();
    }
    const float* query(int row) const { return at<float>(operands_.q, token(row), head(row), block_.stream); }
    const ggml_fp16_t* key(std::int64_t key) const {
        return at<ggml_fp16_t>(operands_.k, key, block_.head, block_.stream);
    }
    const ggml_fp16_t* value(std::int64_t key) const {
        return at<ggml_fp16_t>(operands_.v, key, block_.head, block_.stream);
    }
    const ggml_fp16_t* mask(std::int64_t token, std::int64_t key) const {
        return at<ggml_fp16_t>(operands_.mask, token, 0, block_.stream % operands_.mask->ne[3]) + key;
    }
    float* output(int row) const {
        return const_cast<float*>(at<float>(operands_.dst, head(row), token(row), block_.stream));
    }

private:
    template <typename T>
    static const T* at(const ggml_tensor* t, std::int64_t i1, std::int64_t i2, std::int64_t i3) {
        return reinterpret_cast<const T*>(
            static_cast<const char*>(t->data) + i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3]
        );
    }

    const Operands& operands_;
    const Block& block_;
    const int lanes_; // rows, rounded up to whole vectors
    // true: SIMD lanes hold elements of one row. Depends only on the batch, so that results do not depend on
    // the thread count.
    const bool by_row_;
};

} // namespace sotto::llama
