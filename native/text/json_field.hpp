// Reads a string field of a JSON object that may be incomplete.
#pragma once

#include <string>
#include <string_view>

namespace sotto {

struct Field {
    std::string text;      // decoded, whole characters only
    bool complete = false; // its closing quote was read
};

// Of the outermost object. Absent, no string, or after malformed JSON: empty.
Field read_field(std::string_view json, std::string_view name);

} // namespace sotto
