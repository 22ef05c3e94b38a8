// Approximate nearest neighbours by cosine distance: an HNSW graph over vectors with labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "platform/file.hpp"

namespace sotto::store {

// How an index keeps its vectors: 4, 2 or 1 bytes per dimension.
enum class VectorStorage : std::uint32_t { f32 = 0, f16 = 1, i8 = 2 };

struct IndexOptions {
    std::uint32_t dim = 0; // dimensions of a vector, 1 to 16,384
    VectorStorage storage = VectorStorage::f32;
    std::uint32_t m = 16; // links per element and layer, 2 to 128; twice as many in the lowest layer
    std::uint32_t ef_construction = 200; // candidates that an insertion compares, 1 to 65,536
    std::uint64_t seed = 0;              // of the layers that elements are in
    std::uint64_t max_elements = 0;      // 0: no limit but memory
};

struct Match {
    std::uint64_t label = 0;
    float distance = 0.0F; // 1 - cosine, 0 to 2
};

// Returns true if a search may return the label. Called on the searching thread.
using LabelFilter = std::function<bool(std::uint64_t label)>;

struct SearchOptions {
    std::uint32_t ef = 0; // candidates kept, at least k: more find better matches and take longer. 0: 64
    LabelFilter filter;   // empty: no filter
    // Labels that the search may return; null: all. Labels that the index does not hold are ignored.
    const std::span<const std::uint64_t>* allowed = nullptr;
};

struct BuildOptions {
    unsigned threads = 1; // 0: as many as the process may use cores
    // Called on the building thread with the number of elements linked and to be linked. Returns false to
    // stop.
    std::function<bool(std::uint64_t done, std::uint64_t total)> progress;
};

// A set of vectors, each with a unique label. Vectors are normalised as they are added.
//
// An index starts unbuilt: add() stores vectors, and search() throws until build() has linked them into the
// graph. From then on add() links vectors itself, and the next search finds them. An index that is built
// while empty links each vector as it is added.
//
// Every function may be called from any thread. Searches wait for nothing and may run beside one writer;
// add(), update(), remove(), build() and save() wait for each other.
class VectorIndex {
public:
    // Throws Error(SOTTO_ERROR_ARGUMENT) for an option out of range.
    explicit VectorIndex(const IndexOptions& options);
    ~VectorIndex();
    VectorIndex(const VectorIndex&) = delete;
    VectorIndex& operator=(const VectorIndex&) = delete;

    // Reads a file of save() and validates it completely before use. `mapped`: leaves the vectors in the
    // file, which must stay as it is until the index is destroyed. Throws Error(SOTTO_ERROR_NOT_FOUND) if the
    // file cannot be opened, Error(SOTTO_ERROR_STATE) if it is not an index, is damaged or of a newer
    // version.
    static std::unique_ptr<VectorIndex> load(const PathArgument& path, bool mapped = false);
    // Writes the index to a file, atomically, without a second copy in memory. Throws
    // Error(SOTTO_ERROR_STATE) if the file cannot be written; the old file then remains.
    void save(const PathArgument& path) const;

    // Adds `labels.size()` vectors, which lie one after the other in `vectors`. All are checked before the
    // first is added. Throws Error(SOTTO_ERROR_ARGUMENT) for a wrong number of values, a vector that is zero
    // or has a value that is not finite, or a label that is already in the index or twice in `labels`;
    // Error(SOTTO_ERROR_BUSY) if the index would exceed its maximum.
    void add(std::span<const float> vectors, std::span<const std::uint64_t> labels);
    // Replaces the vector of a label. Returns false if the index has no such label. Throws like add().
    bool update(std::span<const float> vector, std::uint64_t label);
    // Removes a label. Returns false if the index has no such label.
    bool remove(std::uint64_t label);

    // Links all vectors that were added since the index was created, or since a build that was stopped.
    // Returns false if `progress` stopped the build: what is linked stays linked, and another build()
    // continues.
    bool build(const BuildOptions& options = {});
    bool is_built() const noexcept;
    // Makes a running build() stop, and later ones return false at once.
    void cancel() noexcept;

    // Returns at most `k` matches, nearest first. Exact if the index has at most `ef` elements. Throws
    // Error(SOTTO_ERROR_STATE) before build(), Error(SOTTO_ERROR_ARGUMENT) for an invalid query.
    std::vector<Match>
    search(std::span<const float> query, std::size_t k, const SearchOptions& options = {}) const;

    bool contains(std::uint64_t label) const;
    std::vector<std::uint64_t> labels() const; // in the order of their insertion
    std::size_t size() const noexcept;
    std::size_t memory() const noexcept; // bytes of host memory, without mapped files
    const IndexOptions& options() const noexcept;

    class Parts;

private:
    void check_room(std::size_t more) const;
    void add_element(std::span<const float> vector, std::uint64_t label);

    std::unique_ptr<Parts> parts_;
};

} // namespace sotto::store
