// Description of one request field, as in native/request/fields.toml.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

enum class FieldType { Number, Integer, Boolean, Text, Choice, Other };

// One field of request bodies. Converts to its name: code that names fields by these constants does not
// compile if a name is misspelled.
struct RequestField {
    const char* name;
    FieldType type;
    std::uint32_t operations; // bit n is set if the sotto_op with value n reads the field
    double min = 0, max = 0;  // range of a number or integer
    double fallback = 0;      // default of an absent number or boolean
    std::size_t items = 0;    // maximum length of a list
    std::size_t min_bytes = 0, max_bytes = SIZE_MAX; // length of a string, or of each element of a list
    const char* const* choices = nullptr;            // accepted strings, terminated by a nullptr

    constexpr operator const char*() const noexcept { return name; }
};

} // namespace sotto
