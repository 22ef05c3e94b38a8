#include "store/graph.hpp"

#include <algorithm>
#include <optional>
#include <thread>

namespace sotto::store {
namespace {

void prefetch(const void* address) noexcept {
    __builtin_prefetch(address);
}

// Guards the links of one element against other threads that link. Held for a few microseconds.
class LinkLock {
public:
    explicit LinkLock(Record& record) noexcept : locked_(record.locked) {
        while (locked_.exchange(1, std::memory_order_acquire) != 0) {
            std::this_thread::yield();
        }
    }
    ~LinkLock() { locked_.store(0, std::memory_order_release); }
    LinkLock(const LinkLock&) = delete;
    LinkLock& operator=(const LinkLock&) = delete;

private:
    std::atomic<std::uint8_t>& locked_;
};

} // namespace

void Graph::set_entry(ElementId id) noexcept {
    entry_.store(id, std::memory_order_release);
}

ElementId Graph::descend(const EncodedQuery& query, ElementId from, unsigned layer, Batch& batch) const {
    const auto& codec = elements_.codec();
    const std::byte* first = elements_.vector(from);
    float nearest;
    codec.distances(query, &first, 1, &nearest);
    for (bool moved = true; moved;) {
        moved = false;
        batch.count = 0;
        const Links links = elements_.links(from, layer);
        for (std::uint32_t slot = 0; slot < links.capacity(); ++slot) {
            const ElementId id = links.get(slot);
            if (id == kNoElement) {
                break;
            }
            prefetch(elements_.vector(id));
            batch.add(id, elements_.vector(id));
        }
        codec.distances(query, batch.vectors.data(), batch.count, batch.distances.data());
        for (std::size_t i = 0; i < batch.count; ++i) {
            if (batch.distances[i] < nearest) {
                nearest = batch.distances[i];
                from = batch.ids[i];
                moved = true;
            }
        }
    }
    return from;
}

ElementId Graph::approach(const EncodedQuery& query, unsigned layer, Batch& batch) const {
    ElementId from = entry();
    for (unsigned level = elements_.record(from).level; level > layer; --level) {
        from = descend(query, from, level, batch);
    }
    return from;
}

void Graph::expand(const EncodedQuery& query, ElementId id, unsigned layer, Scratch& scratch) const {
    auto& batch = scratch.batch;
    batch.count = 0;
    const Links links = elements_.links(id, layer);
    for (std::uint32_t slot = 0; slot < links.capacity(); ++slot) {
        const ElementId neighbor = links.get(slot);
        if (neighbor == kNoElement) {
            break;
        }
        if (scratch.seen.insert(neighbor)) {
            const std::byte* vector = elements_.vector(neighbor);
            prefetch(vector);
            prefetch(vector + kCacheLine);
            batch.add(neighbor, vector);
        }
    }
    elements_.codec().distances(query, batch.vectors.data(), batch.count, batch.distances.data());
}

void Graph::search_layer(
    const EncodedQuery& query, ElementId from, unsigned layer, std::size_t ef, Scratch& scratch
) const {
    auto& beam = scratch.beam;
    auto& batch = scratch.batch;
    scratch.seen.reset(elements_.count());
    scratch.seen.insert(from);
    beam.reset(ef);
    batch.count = 0;
    batch.add(from, elements_.vector(from));
    elements_.codec().distances(query, batch.vectors.data(), 1, batch.distances.data());
    beam.insert(batch.distances[0], from);
    for (ElementId id = beam.next(); id != kNoElement; id = beam.next()) {
        expand(query, id, layer, scratch);
        for (std::size_t i = 0; i < batch.count; ++i) {
            beam.insert(batch.distances[i], batch.ids[i]);
        }
        if (const ElementId after = beam.peek(); after != kNoElement && layer == 0) {
            prefetch(elements_.links(after, 0).address());
        }
    }
}

void Graph::search(const EncodedQuery& query, std::size_t ef, Scratch& scratch) const {
    if (entry() == kNoElement) {
        scratch.beam.reset(ef);
        return;
    }
    search_layer(query, approach(query, 0, scratch.batch), 0, ef, scratch);
}

void Graph::select(std::size_t max, Scratch& scratch, std::vector<ElementId>& selected) const {
    const auto& codec = elements_.codec();
    const auto& candidates = scratch.candidates;
    auto& kept = scratch.kept;
    kept.count = 0;
    selected.clear();
    const auto is_diverse = [&](const Neighbor& candidate) {
        constexpr std::size_t kStep = 4; // most candidates are refused by the first ones that were chosen
        const EncodedQuery query = codec.decode(elements_.vector(candidate.id), scratch.other.get());
        for (std::size_t i = 0; i < kept.count; i += kStep) {
            const std::size_t count = std::min(kStep, kept.count - i);
            const auto distances = kept.distances.begin() + static_cast<std::ptrdiff_t>(i);
            codec.distances(query, &kept.vectors[i], count, &*distances);
            if (std::any_of(distances, distances + static_cast<std::ptrdiff_t>(count), [&](float distance) {
                    return distance < candidate.distance;
                })) {
                return false;
            }
        }
        return true;
    };
    for (const auto& candidate : candidates) {
        if (selected.size() == max) {
            break;
        }
        if (candidates.size() < max || is_diverse(candidate)) {
            kept.add(candidate.id, elements_.vector(candidate.id));
            selected.push_back(candidate.id);
        }
    }
}

void Graph::prepare(Scratch& scratch) const {
    const std::size_t links = std::size_t{2} * elements_.m();
    scratch.seen.reset(elements_.count());
    scratch.beam.reset(ef_construction_);
    scratch.candidates.reserve(std::max<std::size_t>(ef_construction_, links + 1));
    scratch.pruned.reserve(links);
    for (auto& selected : scratch.selected) {
        selected.reserve(links);
    }
}

void Graph::link(ElementId id, Scratch& scratch) {
    std::unique_lock lock(entry_mutex_, std::defer_lock);
    ElementId entry = this->entry();
    const unsigned level = elements_.record(id).level;
    if (entry == kNoElement || level > elements_.record(entry).level) {
        lock.lock();
        entry = this->entry(); // another thread may have changed it
    }
    if (entry != kNoElement) {
        link_below(id, entry, scratch);
    }
    if (entry == kNoElement || level > elements_.record(entry).level) {
        set_entry(id);
    }
}

// A removed element is linked to only if there is nothing else, so that its own links can be dropped later.
void Graph::collect(ElementId id, Scratch& scratch) const {
    const auto collect_if = [&](auto&& wanted) {
        for (std::size_t i = 0; i < scratch.beam.size(); ++i) {
            if (const Neighbor found = scratch.beam[i]; found.id != id && wanted(found.id)) {
                scratch.candidates.push_back(found);
            }
        }
    };
    scratch.candidates.clear();
    collect_if([&](ElementId found) { return !elements_.is_removed(found); });
    if (scratch.candidates.empty()) {
        collect_if([](ElementId) { return true; });
    }
}

void Graph::link_below(ElementId id, ElementId entry, Scratch& scratch) {
    const EncodedQuery query = elements_.codec().decode(elements_.vector(id), scratch.query.get());
    const unsigned top = std::min<unsigned>(elements_.record(id).level, elements_.record(entry).level);
    ElementId from = entry;
    for (unsigned layer = elements_.record(entry).level; layer > top; --layer) {
        from = descend(query, from, layer, scratch.batch);
    }
    for (unsigned layer = top + 1; layer-- > 0;) {
        search_layer(query, from, layer, ef_construction_, scratch);
        collect(id, scratch);
        from = scratch.beam[0].id;
        select(elements_.m(), scratch, scratch.selected[layer]);
    }
    // Other threads reach the element from its neighbours: by then it has links in all its layers.
    for (unsigned layer = 0; layer <= top; ++layer) {
        elements_.links(id, layer).assign(scratch.selected[layer]);
    }
    for (unsigned layer = 0; layer <= top; ++layer) {
        for (std::size_t i = 0; i < scratch.selected[layer].size(); ++i) {
            connect(scratch.selected[layer][i], id, layer, scratch);
        }
    }
}

void Graph::connect(ElementId from, ElementId to, unsigned layer, Scratch& scratch) {
    const LinkLock lock(elements_.record(from));
    const Links links = elements_.links(from, layer);
    const std::uint32_t count = links.count();
    if (count < links.capacity()) {
        links.set(count, to);
        return;
    }
    const auto& codec = elements_.codec();
    auto& batch = scratch.batch;
    batch.count = 0;
    batch.add(to, elements_.vector(to));
    for (std::uint32_t slot = 0; slot < count; ++slot) {
        batch.add(links.get(slot), elements_.vector(links.get(slot)));
    }
    const EncodedQuery query = codec.decode(elements_.vector(from), scratch.query.get());
    codec.distances(query, batch.vectors.data(), batch.count, batch.distances.data());
    auto& candidates = scratch.candidates;
    candidates.clear();
    for (std::size_t i = 0; i < batch.count; ++i) {
        candidates.push_back({batch.distances[i], batch.ids[i]});
    }
    std::sort(candidates.begin(), candidates.end(), is_nearer);
    auto& selected = scratch.pruned;
    select(links.capacity(), scratch, selected);
    links.assign(selected);
}

} // namespace sotto::store
