// Softmax over tiles of keys: turns scores into e^(score -
// max), and keeps the maximum and sum of each row.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "lanes.hpp"
#include "operands.hpp"

namespace sotto::llama {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

class OnlineSoftmax {
public:
    // `scores`: [row][kTile keys] if `lanes` is 0, else [key][lanes], where the lanes are rows.
    OnlineSoftmax(float* scores, int rows, int lanes) : scores_(scores), rows_(rows), lanes_(lanes) {
        max_.fill(kMinusInfinity);
        normalizers_.fill(0);
    }

    // Turns the scores of a tile of `count` keys into e^(score - max); updates each row's maximum,
    // normalizer and rescale factor.
    void update(int count) {
        if (lanes_ == 0) {
            for (int row = 0; row < rows_; ++row) {
                update_row(row, count);
            }
        } else {
            for (int lane = 0; lane < lanes_; lane += kLanes) {
                update_lanes(lane, count);
            }
        }
    }

    // Adds the score of an attention sink, which has no value vector, to a row. Returns the row's rescale
    // factor.
    float add_sink(int row, float sink) {
        const auto before = max_[static_cast<std::size_t>(row)];
        const auto max = std::max(before, sink);
        const auto rescale = std::exp(before - max);
        set_row(row, max, rescale, std::exp(sink - max));
        return rescale;
    }

    // Returns the factor by which a row's sums over earlier tiles must be multiplied after update() or
    // add_sink() has raised the row's maximum.
    float rescale(int row) const { return rescale_[static_cast<std::size_t>(row)]; }
    Floats rescale_lanes(int lane) const { return load(rescale_.data() + lane); }
    // Returns the sum of e^(score - max) over the keys of a row.
    float normalizer(int row) const { return normalizers_[static_cast<std::size_t>(row)]; }

private:
    void update_row(int row, int count) {
        auto* scores = scores_ + row * kTile;
        std::fill(scores + count, scores + kTile, kMinusInfinity);
        auto most = all(max_[static_cast<std::size_t>(row)]);
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
        set_row(row, max, std::exp(max_[static_cast<std::size_t>(row)] - base), total(sum));
    }

    void set_row(int row, float max, float rescale, float sum) {
        const auto at = static_cast<std::size_t>(row);
        max_[at] = max;
        rescale_[at] = rescale;
        normalizers_[at] = normalizers_[at] * rescale + sum;
    }

    void update_lanes(int lane, int count) {
        auto* scores = scores_ + lane;
        const auto before = load(max_.data() + lane);
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
        store(max_.data() + lane, most);
        store(rescale_.data() + lane, rescale);
        store(normalizers_.data() + lane, load(normalizers_.data() + lane) * rescale + sum);
    }

    float* const scores_;
    const int rows_;
    const int lanes_;
    std::array<float, kRows> max_;
    std::array<float, kRows> normalizers_; // sums of e^(score - max)
    std::array<float, kRows> rescale_;
};

} // namespace sotto::llama
