// Search of the entries' embeddings by cosine similarity: exact in small stores, by an HNSW graph in large
// ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "platform/file.hpp"

namespace sotto::store {

class VectorIndex;

struct VectorMatch {
    std::int64_t number = 0; // row of the entry
    float similarity = 0.0F; // cosine, -1 to 1
};

// Cosine of two vectors of equal size; neither is zero.
float cosine(std::span<const float> a, std::span<const float> b) noexcept;

// The embeddings of a store in memory. Not thread-safe.
class VectorSearch {
public:
    // Most vectors that are compared one by one. More are linked into a graph, which takes about a
    // millisecond for each on one core, once.
    static constexpr std::size_t kMaxExact = 10'000;

    // `expected`: number of vectors that will be added before build().
    VectorSearch(std::size_t dim, std::size_t expected);
    ~VectorSearch();
    VectorSearch(const VectorSearch&) = delete;
    VectorSearch& operator=(const VectorSearch&) = delete;

    // Adds the vector of a row, or replaces it. Call build() before the next find().
    void set(std::int64_t number, std::span<const float> vector);
    void remove(std::int64_t number);
    // Links vectors that are not in the graph yet, with all cores if they are many.
    void build();
    std::size_t size() const noexcept;
    std::vector<std::int64_t> rows() const; // ascending

    // Returns the `limit` most similar rows, best first. `allowed`: ascending rows that may be returned;
    // null: all.
    std::vector<VectorMatch>
    find(std::span<const float> query, std::size_t limit, const std::vector<std::int64_t>* allowed) const;

    bool has_graph() const noexcept { return graph_ != nullptr; }
    // Writes the graph to a file. Throws Error(SOTTO_ERROR_STATE).
    void save(const PathArgument& path) const;
    // Reads a file of save(). Returns null if it is missing or damaged, or its vectors have another size.
    static std::unique_ptr<VectorSearch> load(const PathArgument& path, std::size_t dim);

private:
    void begin_graph();
    std::vector<VectorMatch>
    scan(std::span<const float> query, std::size_t limit, const std::vector<std::int64_t>* allowed) const;

    std::size_t dim_;
    std::vector<float> vectors_; // normalised, in the order of rows_
    std::vector<std::int64_t> rows_;
    std::unordered_map<std::int64_t, std::size_t> places_; // of a row in rows_
    std::unique_ptr<VectorIndex> graph_;                   // holds all vectors, if there is one
};

} // namespace sotto::store
