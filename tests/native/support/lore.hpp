// A store "lore" in a folder, and entries for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "store/store.hpp"
#include "support/folder.hpp"

namespace test::lore {

constexpr std::uint32_t kDim = 8;

inline sotto::store::StoreOptions options(const Folder& folder, std::uint32_t dim = kDim) {
    sotto::store::StoreOptions made;
    made.folder = folder.text();
    made.id = "lore";
    made.dim = dim;
    made.create = true;
    return made;
}

inline sotto::store::Entry entry(std::string key, std::string value = "", std::vector<float> embedding = {}) {
    sotto::store::Entry made;
    made.key = std::move(key);
    made.value = std::move(value);
    made.embedding = std::move(embedding);
    return made;
}

inline std::vector<float> random_vector(std::mt19937& random, std::size_t dim = kDim) {
    std::normal_distribution<float> normal;
    std::vector<float> vector(dim);
    std::generate(vector.begin(), vector.end(), [&] { return normal(random); });
    return vector;
}

} // namespace test::lore
