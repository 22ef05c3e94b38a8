// Filters as SQL.
#pragma once

#include <string>

#include "store/entry.hpp"
#include "store/sqlite.hpp"

namespace sotto::store {

// Returns an SQL condition on the table `entries`, with one parameter for each value that bind_filter()
// binds; "1" for an empty filter.
std::string filter_sql(const Filter& filter);

// Binds the values of a filter to the next parameters. `key` is a folded copy of filter.key_contains, which
// must outlive the run.
void bind_filter(Run& run, const Filter& filter, const std::string& key);

// Builds the path of a metadata field for SQLite: place.room is $."place"."room". Throws
// Error(SOTTO_ERROR_ARGUMENT) for a field that is empty or has a quotation mark.
std::string metadata_path(std::string_view field);

} // namespace sotto::store
