// Reads a string field of a JSON object that may be incomplete.
#pragma once

#include <string>
#include <string_view>

namespace sotto {

struct Field {
    std::string text;      // of a string: decoded, whole characters only
    bool complete = false; // all of it was read
};

// Of the outermost object. A value that is no string is read only from a complete object, as JSON. Absent, or
// after malformed JSON: empty.
Field read_field(std::string_view json, std::string_view name);

} // namespace sotto
