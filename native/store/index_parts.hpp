// The state of a VectorIndex.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "platform/mapping.hpp"
#include "store/elements.hpp"
#include "store/graph.hpp"
#include "store/scratch.hpp"
#include "store/vector_index.hpp"

namespace sotto::store {

// Which element has a label. Any thread; calls block each other for less than a microsecond, but for
// reserve().
class LabelMap {
public:
    ElementId find(std::uint64_t label) const; // kNoElement if no element has it
    void set(std::uint64_t label, ElementId id);
    ElementId erase(std::uint64_t label);
    void reserve(std::size_t more);
    std::size_t size() const;
    std::vector<ElementId> ids(std::span<const std::uint64_t> labels) const; // of labels that exist
    std::vector<ElementId> ids() const;

private:
    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, ElementId> ids_;
};

class VectorIndex::Parts {
public:
    explicit Parts(const IndexOptions& chosen)
        : options(chosen), elements(options), graph(elements, options.ef_construction),
          pool(elements.codec()) {}

    IndexOptions options;
    Mapping mapping; // of the file that the vectors are in; empty if they are in memory
    Elements elements;
    Graph graph;
    LabelMap labels;
    std::atomic<std::size_t> live{0}; // elements that are not removed
    std::atomic<bool> is_built{false};
    std::atomic<bool> is_cancelled{false};
    ElementId linked = 0;       // elements below this id are linked, or were removed before
    mutable std::mutex writing; // held by the one thread that changes the index
    mutable ScratchPool pool;
};

// Writes `vector` with a length of 1 to `normalised`. `name` says in an error which parameter it is. Throws
// Error(SOTTO_ERROR_ARGUMENT) for zero vectors and values that are not finite.
void normalise(std::span<const float> vector, const std::string& name, std::vector<float>& normalised);

} // namespace sotto::store
