// Checks of entries and queries from the host. Each throws an Error that names the value.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "store/entry.hpp"

namespace sotto::store {

void check_entry(const Entry& entry);
void check_query(const StoreQuery& query);

// Throws Error(SOTTO_ERROR_ARGUMENT) for a vector that is zero or has a value that is not finite.
void check_vector(std::span<const float> vector, std::string_view name);

} // namespace sotto::store
