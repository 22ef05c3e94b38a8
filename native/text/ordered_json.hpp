// Reads JSON whose members keep their order, in time that is linear in its length.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sotto {

using Ordered = nlohmann::ordered_json; // a schema's order is the order that answers have

// What `text` says; of members of one name, the last. Its own parser looks through all members of an object
// before it adds another. Throws Error(SOTTO_ERROR_ARGUMENT), and Error(SOTTO_ERROR_CANCELLED) soon after
// `cancelled`, which may be null, is set.
Ordered parse_ordered(std::string_view text, const std::atomic<bool>* cancelled = nullptr);

// Parses `text` with nlohmann's own parser; returns a discarded value if it is not JSON.
Ordered try_parse_ordered(std::string_view text);

// `value` on one line; bytes of its strings that are no UTF-8 become U+FFFD.
std::string to_text(const Ordered& value);

} // namespace sotto
