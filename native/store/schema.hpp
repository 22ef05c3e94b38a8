// The tables of a store: creation, migration to this version, and the check that a file holds nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/sqlite.hpp"

namespace sotto::store {

// Version of the tables that this library writes.
constexpr std::int64_t kSchemaVersion = 1;

// Facts about a store, in its table `facts`.
struct Facts {
    std::uint32_t dim = 0;       // of embeddings; 0: the store has none
    std::int64_t generation = 0; // grows with each change of an embedding
    std::string index;           // name of the index file; empty: none was saved
    std::int64_t index_generation = 0;
};

// Creates the tables in an empty database, or migrates older ones. Throws Error(SOTTO_ERROR_STATE) if the
// database is not a store, and Error(SOTTO_ERROR_UNSUPPORTED) if a newer version wrote it. `writable` false:
// also throws Error(SOTTO_ERROR_STATE) for an older version, which only a writer can migrate.
void prepare_schema(Database& database, const std::string& name, std::uint32_t dim, bool writable);

Facts read_facts(Database& database, const std::string& name);
void write_fact(Database& database, std::string_view name, std::string_view value);

} // namespace sotto::store
