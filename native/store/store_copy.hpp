// Backups of a store: one file with all entries, written from an open database and read into one.
#pragma once

#include <cstdint>
#include <string>

#include "store/sqlite.hpp"

namespace sotto::store {

// Writes the database to the file `path`, which replaces an earlier one once it is complete. The WAL must be
// empty, and nothing may change the database meanwhile. Throws Error(SOTTO_ERROR_ARGUMENT) or
// Error(SOTTO_ERROR_STATE), and leaves an earlier file as it was.
void write_backup(Database& database, const std::string& path);

// Replaces the content of `database` by that of the backup `path`, whose embeddings must have `dim` values.
// `name` names the store in error messages. Throws Error, and changes nothing, if the file is not a whole
// backup that fits.
void read_backup(Database& database, const std::string& path, const std::string& name, std::uint32_t dim);

} // namespace sotto::store
