// Reads JSON in time that is linear in its length.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace sotto::llama {

// What `text` says; of members of one name, the last. Its own parser looks through all members of an object
// before it adds another. Throws Error(SOTTO_ERROR_ARGUMENT) for what is no JSON, and
// Error(SOTTO_ERROR_CANCELLED) once the call under way is cancelled.
nlohmann::ordered_json parse_json(std::string_view text);

} // namespace sotto::llama
