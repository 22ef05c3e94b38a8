// Searches, along the graph or through all elements.
#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "store/index_parts.hpp"

namespace sotto::store {
namespace {

constexpr std::size_t kDefaultEf = 64;

// One search: which elements it may return, and how it finds them.
class Search {
public:
    Search(const VectorIndex::Parts& parts, const SearchOptions& options, std::size_t k, Scratch& scratch)
        : parts_(parts), options_(options), k_(k), count_(parts.elements.count()), scratch_(scratch),
          query_(parts.elements.codec().prepare(scratch.normalised, scratch.query.get())) {
        const std::size_t ef = std::max<std::size_t>(options.ef == 0 ? kDefaultEf : options.ef, k);
        ef_ = std::min<std::size_t>(ef, count_);
    }

    void run() {
        if (options_.allowed != nullptr) {
            run_allowed(parts_.labels.ids(*options_.allowed));
        } else if (parts_.live <= ef_) {
            scan(count_, [](std::size_t i) { return static_cast<ElementId>(i); });
        } else if (options_.filter || parts_.live < parts_.elements.count()) {
            parts_.graph.search_accepted(query_, ef_, [&](ElementId id) { return accepts(id); }, scratch_);
        } else {
            parts_.graph.search(query_, ef_, scratch_);
            take_beam();
        }
    }

    std::vector<Match> matches() const {
        std::vector<Match> found(std::min(k_, scratch_.found.size()));
        std::transform(
            scratch_.found.begin(),
            scratch_.found.begin() + static_cast<std::ptrdiff_t>(found.size()),
            found.begin(),
            [&](const Neighbor& one) { return Match{parts_.elements.record(one.id).label, one.distance}; }
        );
        return found;
    }

private:
    bool accepts(ElementId id) const {
        return !parts_.elements.is_removed(id) &&
               (!options_.filter || options_.filter(parts_.elements.record(id).label));
    }

    // Scans a short list; marks a long one and searches the graph. A graph search that accepts one element of
    // n computes about 16 x ef x n distances.
    void run_allowed(const std::vector<ElementId>& ids) {
        const double list = static_cast<double>(ids.size());
        if (list * list <= 16.0 * static_cast<double>(ef_) * count_) {
            scan(ids.size(), [&](std::size_t i) { return ids[i]; });
            return;
        }
        scratch_.allowed.reset(count_);
        for (const ElementId id : ids) {
            scratch_.allowed.insert(id);
        }
        const auto accept = [&](ElementId id) { return scratch_.allowed.contains(id) && accepts(id); };
        parts_.graph.search_accepted(query_, ef_, accept, scratch_);
    }

    // Compares the query with each accepted element of a list.
    template <typename IdAt>
    void scan(std::size_t count, IdAt&& id_at) {
        auto& batch = scratch_.batch;
        auto& found = scratch_.found;
        found.clear();
        for (std::size_t begin = 0; begin < count; begin += Batch::kMax) {
            batch.count = 0;
            for (std::size_t i = begin; i < std::min(count, begin + Batch::kMax); ++i) {
                if (const ElementId id = id_at(i); accepts(id)) {
                    batch.add(id, parts_.elements.vector(id));
                }
            }
            parts_.elements.codec().distances(
                query_, batch.vectors.data(), batch.count, batch.distances.data()
            );
            for (std::size_t i = 0; i < batch.count; ++i) {
                found.push_back({batch.distances[i], batch.ids[i]});
            }
        }
        const auto kept = static_cast<std::ptrdiff_t>(std::min(k_, found.size()));
        std::partial_sort(found.begin(), found.begin() + kept, found.end(), is_nearer);
    }

    void take_beam() {
        scratch_.found.clear();
        for (std::size_t i = 0; i < std::min(k_, scratch_.beam.size()); ++i) {
            scratch_.found.push_back(scratch_.beam[i]);
        }
    }

    const VectorIndex::Parts& parts_;
    const SearchOptions& options_;
    std::size_t k_;
    std::size_t ef_ = 0;
    std::uint32_t count_;
    Scratch& scratch_;
    EncodedQuery query_;
};

} // namespace

std::vector<Match>
VectorIndex::search(std::span<const float> query, std::size_t k, const SearchOptions& options) const {
    const auto& parts = *parts_;
    if (query.size() != parts.options.dim) {
        throw invalid_argument(
            "query",
            std::to_string(query.size()) + " values",
            std::to_string(parts.options.dim) + " values, the dimensions of the index"
        );
    }
    const ScratchLease scratch(parts.pool);
    normalise(query, "query", scratch->normalised);
    if (!parts.is_built) {
        throw Error(
            SOTTO_ERROR_STATE, "the index is not built: call build() after the last insert and before search"
        );
    }
    if (k == 0) {
        return {};
    }
    Search search(parts, options, k, *scratch);
    search.run();
    return search.matches();
}

} // namespace sotto::store
