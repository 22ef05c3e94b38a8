// The softmax of the CPU's attention, alone.
#include "backends/llama/devices/cpu/attention/online_softmax.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <random>
#include <vector>

using namespace sotto::llama;

namespace {

constexpr int kRowsHere = 3;

// Scores of rows and keys.
std::vector<std::vector<float>> random_scores(int keys) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> score(-20, 20);
    std::vector<std::vector<float>> scores(kRowsHere, std::vector<float>(static_cast<std::size_t>(keys)));
    for (auto& row : scores) {
        for (auto& one : row) {
            one = score(random);
        }
    }
    return scores;
}

// Sums of e^(score - max), as a whole row of scores gives them.
double expected_sum(const std::vector<float>& scores) {
    const double max = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const double score : scores) {
        sum += std::exp(score - max);
    }
    return sum;
}

} // namespace

TEST_CASE("tiles of keys come to the softmax of all keys, in both layouts") {
    constexpr int kKeys = 150; // two tiles and a part of one
    const auto scores = random_scores(kKeys);
    for (const int lanes : {0, kLanes}) {
        CAPTURE(lanes);
        std::vector<float> tile(static_cast<std::size_t>(kTile * kLanes));
        OnlineSoftmax softmax(tile.data(), kRowsHere, lanes);
        std::vector<double> sums(kRowsHere); // rescaled as a caller does
        for (int first = 0; first < kKeys; first += kTile) {
            const int count = std::min(kTile, kKeys - first);
            const auto at = [&](int row, int key) -> float& {
                return tile[static_cast<std::size_t>(lanes == 0 ? row * kTile + key : key * lanes + row)];
            };
            for (int row = 0; row < kRowsHere; ++row) {
                for (int key = 0; key < count; ++key) {
                    at(row, key) =
                        scores[static_cast<std::size_t>(row)][static_cast<std::size_t>(first + key)];
                }
            }
            softmax.update(count);
            for (int row = 0; row < kRowsHere; ++row) {
                auto& sum = sums[static_cast<std::size_t>(row)];
                sum *= softmax.rescale(row);
                for (int key = 0; key < count; ++key) {
                    sum += at(row, key);
                }
            }
        }
        for (int row = 0; row < kRowsHere; ++row) {
            const auto expected = expected_sum(scores[static_cast<std::size_t>(row)]);
            CHECK(softmax.normalizer(row) == doctest::Approx(expected).epsilon(1e-4));
            CHECK(sums[static_cast<std::size_t>(row)] == doctest::Approx(expected).epsilon(1e-4));
        }
    }
}

TEST_CASE("a sink adds to the normalizer, and rescales the row if it is the largest score") {
    std::vector<float> tile(static_cast<std::size_t>(kTile));
    OnlineSoftmax softmax(tile.data(), 1, 0);
    tile[0] = 1;
    softmax.update(1);
    CHECK(softmax.normalizer(0) == doctest::Approx(1));
    CHECK(softmax.add_sink(0, 0) == doctest::Approx(1));
    CHECK(softmax.normalizer(0) == doctest::Approx(1 + std::exp(-1.0)));
    CHECK(softmax.add_sink(0, 3) == doctest::Approx(std::exp(-2.0)));
    CHECK(softmax.normalizer(0) == doctest::Approx((1 + std::exp(-1.0)) * std::exp(-2.0) + 1));
}
