// Parses JSON and preserves the order of members, in time linear in its length.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sotto {

using Ordered = nlohmann::ordered_json; // answers follow the order of their schema's members

// Parses `text`; the last of several members with the same name wins. Does not use nlohmann's own parser,
// which searches all earlier members of an object for each new member. Throws Error(SOTTO_ERROR_ARGUMENT), or
// Error(SOTTO_ERROR_CANCELLED) soon after `cancelled` is set; `cancelled` may be null.
Ordered parse_ordered(std::string_view text, const std::atomic<bool>* cancelled = nullptr);

// Parses `text` with nlohmann's own parser; returns a discarded value if it is not JSON.
Ordered try_parse_ordered(std::string_view text);

// Serializes `value` on one line. Ill-formed UTF-8 in its strings becomes U+FFFD.
std::string to_text(const Ordered& value);

} // namespace sotto
