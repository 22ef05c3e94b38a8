// Parses JSON in time linear in its length.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace sotto::llama {

// Parses `text`; the last of several members with the same name wins. Replaces nlohmann's own parser, which
// takes quadratic time for large objects: it searches all members of an object before it adds one. Throws
// Error(SOTTO_ERROR_ARGUMENT) for malformed JSON, and Error(SOTTO_ERROR_CANCELLED) once the current call is
// cancelled.
nlohmann::ordered_json parse_json(std::string_view text);

} // namespace sotto::llama
