// The embeddings of an open store in memory, and the file that caches their graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "store/entry_table.hpp"
#include "store/schema.hpp"
#include "store/sqlite.hpp"
#include "store/store_files.hpp"
#include "store/vector_search.hpp"

namespace sotto::store {

// The graph of a large store is saved when the store closes. The file is a cache of the database, which is
// the truth: what the file lacks is added when it is read, and a missing or damaged file is built again. Its
// name is random and stands in the database, so that a database that was restored from a copy does not take
// the file of another state for its own. Not thread-safe.
class StoreVectors {
public:
    // `facts` must outlive this object, like the others.
    StoreVectors(Database& database, EntryTable& entries, const StoreFiles& files, Facts& facts)
        : database_(database), entries_(entries), files_(files), facts_(facts) {}

    // Returns the vectors, which are read first if they are not in memory: after drop(), and in the first
    // call.
    VectorSearch& get();
    // Forgets the vectors in memory, for a change that could not be applied to them.
    void drop() noexcept { search_.reset(); }
    // Reads all vectors from the database again, without what was removed and replaced.
    void rebuild();
    // Saves the graph, if there is one that has changed since it was saved, and removes older files.
    void save();

private:
    std::unique_ptr<VectorSearch> read_database();
    std::unique_ptr<VectorSearch> read_index();
    void add(VectorSearch& read, std::int64_t number, std::span<const float> values) const;

    Database& database_;
    EntryTable& entries_;
    const StoreFiles& files_;
    Facts& facts_;
    std::unique_ptr<VectorSearch> search_;
    bool saved_ = false; // the file has the graph of facts_.index_generation
};

// Returns `digits` random hexadecimal digits, a multiple of 8.
std::string random_digits(int digits);

} // namespace sotto::store
