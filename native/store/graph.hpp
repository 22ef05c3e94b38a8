// The HNSW graph (Malkov and Yashunin, 2016): links between elements, and searches along them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include "store/elements.hpp"
#include "store/scratch.hpp"

namespace sotto::store {

// Searches take no lock. Several threads may link elements at the same time, also during searches.
class Graph {
public:
    Graph(Elements& elements, std::uint32_t ef_construction) noexcept
        : elements_(elements), ef_construction_(ef_construction) {}

    // Allocates all that link() needs, so that link() does not fail. Throws std::bad_alloc.
    void prepare(Scratch& scratch) const;
    // Links an element. From then on searches find it.
    void link(ElementId id, Scratch& scratch);

    // Finds the `ef` nearest elements that searches can reach, in scratch.beam.
    void search(const EncodedQuery& query, std::size_t ef, Scratch& scratch) const;
    // The same among the elements for which accept(id) is true, in scratch.found, sorted.
    template <typename Accept>
    void search_accepted(const EncodedQuery& query, std::size_t ef, Accept&& accept, Scratch& scratch) const;

    // The element at which searches begin; kNoElement if none is linked.
    ElementId entry() const noexcept {
        return static_cast<ElementId>(entry_.load(std::memory_order_acquire));
    }
    void set_entry(ElementId id) noexcept;

private:
    // Walks from `from` to the nearest element of a layer, one step at a time.
    ElementId descend(const EncodedQuery& query, ElementId from, unsigned layer, Batch& batch) const;
    void search_layer(
        const EncodedQuery& query, ElementId from, unsigned layer, std::size_t ef, Scratch& scratch
    ) const;
    // Puts the neighbours of an element that were not seen before into a batch, and computes their distances.
    void expand(const EncodedQuery& query, ElementId id, unsigned layer, Scratch& scratch) const;
    // Returns the element nearest to the query on the layers above `layer`, from which to search that layer.
    ElementId approach(const EncodedQuery& query, unsigned layer, Batch& batch) const;

    void link_below(ElementId id, ElementId entry, Scratch& scratch);
    // Puts what the beam holds into scratch.candidates, but for `id`.
    void collect(ElementId id, Scratch& scratch) const;
    // Chooses at most `max` of the sorted scratch.candidates: each nearer to the element than to any chosen
    // one.
    void select(std::size_t max, Scratch& scratch, std::vector<ElementId>& selected) const;
    void connect(ElementId from, ElementId to, unsigned layer, Scratch& scratch);

    Elements& elements_;
    std::uint32_t ef_construction_;
    std::atomic<std::uint32_t> entry_{kNoElement};
    std::mutex entry_mutex_; // held while an element is linked that will be the entry
};

template <typename Accept>
void Graph::search_accepted(
    const EncodedQuery& query, std::size_t ef, Accept&& accept, Scratch& scratch
) const {
    const auto is_farther = [](const Neighbor& a, const Neighbor& b) { return is_nearer(b, a); };
    auto& open = scratch.candidates; // a heap, nearest first
    auto& found = scratch.found;     // a heap, farthest first
    auto& batch = scratch.batch;
    open.clear();
    found.clear();
    const auto offer = [&](float distance, ElementId id) {
        const bool full = found.size() == ef;
        if (full && !(distance < found.front().distance)) {
            return;
        }
        open.push_back({distance, id});
        std::push_heap(open.begin(), open.end(), is_farther);
        if (!accept(id)) {
            return;
        }
        if (full) {
            std::pop_heap(found.begin(), found.end(), is_nearer);
            found.pop_back();
        }
        found.push_back({distance, id});
        std::push_heap(found.begin(), found.end(), is_nearer);
    };
    if (entry() == kNoElement) {
        return;
    }
    const ElementId from = approach(query, 0, batch);
    scratch.seen.reset(elements_.count());
    scratch.seen.insert(from);
    batch.count = 0;
    batch.add(from, elements_.vector(from));
    elements_.codec().distances(query, batch.vectors.data(), 1, batch.distances.data());
    offer(batch.distances[0], from);
    while (!open.empty()) {
        const Neighbor nearest = open.front();
        if (found.size() == ef && nearest.distance > found.front().distance) {
            break;
        }
        std::pop_heap(open.begin(), open.end(), is_farther);
        open.pop_back();
        expand(query, nearest.id, 0, scratch);
        for (std::size_t i = 0; i < batch.count; ++i) {
            offer(batch.distances[i], batch.ids[i]);
        }
    }
    std::sort_heap(found.begin(), found.end(), is_nearer);
}

} // namespace sotto::store
