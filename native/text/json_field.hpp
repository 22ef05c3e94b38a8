// Reads a string field of a JSON object that may be incomplete.
#pragma once

#include <string>
#include <string_view>

namespace sotto {

struct Field {
    std::string text;      // a string field: decoded, complete characters only
    bool complete = false; // the whole value was read
};

// Reads a field of the outermost object. A value other than a string is returned as JSON, and only if the
// object is complete. Returns an empty Field if the field is absent or the JSON is malformed.
Field read_field(std::string_view json, std::string_view name);

} // namespace sotto
