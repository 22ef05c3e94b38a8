// Seeded vectors for tests of the vector index.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace test {

// `count` vectors around 50 centres, one after the other.
inline std::vector<float> clustered(std::size_t count, std::size_t dim, unsigned seed) {
    constexpr std::size_t kCentres = 50;
    std::mt19937 fixed(7);
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> centres(kCentres * dim);
    std::generate(centres.begin(), centres.end(), [&] { return normal(fixed); });
    std::vector<float> made;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t centre = random() % kCentres;
        for (std::size_t at = 0; at < dim; ++at) {
            made.push_back(centres[centre * dim + at] + 0.7F * normal(random));
        }
    }
    return made;
}

inline std::vector<std::uint64_t> labels_from(std::uint64_t first, std::size_t count) {
    std::vector<std::uint64_t> made(count);
    std::iota(made.begin(), made.end(), first);
    return made;
}

inline std::span<const float> row(const std::vector<float>& vectors, std::size_t dim, std::size_t index) {
    return std::span<const float>(vectors).subspan(index * dim, dim);
}

inline double cosine_distance(std::span<const float> a, std::span<const float> b) {
    double product = 0;
    double a_squares = 0;
    double b_squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        product += static_cast<double>(a[i]) * b[i];
        a_squares += static_cast<double>(a[i]) * a[i];
        b_squares += static_cast<double>(b[i]) * b[i];
    }
    return 1 - product / std::sqrt(a_squares * b_squares);
}

// Returns the indices of the `k` vectors nearest to a query, found by comparing all.
inline std::vector<std::uint64_t>
nearest(const std::vector<float>& vectors, std::span<const float> query, std::size_t k) {
    std::vector<std::pair<double, std::uint64_t>> all;
    for (std::size_t i = 0; i < vectors.size() / query.size(); ++i) {
        all.emplace_back(cosine_distance(row(vectors, query.size(), i), query), i);
    }
    const auto kept = static_cast<std::ptrdiff_t>(std::min(k, all.size()));
    std::partial_sort(all.begin(), all.begin() + kept, all.end());
    std::vector<std::uint64_t> found;
    for (std::ptrdiff_t i = 0; i < kept; ++i) {
        found.push_back(all[static_cast<std::size_t>(i)].second);
    }
    return found;
}

} // namespace test
