// What native/request/fields.toml says of one field of request bodies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

enum class FieldType { Number, Integer, Boolean, Text, Choice, Other };

// Converts to its name: a field that the table lacks, or misspells, does not compile.
struct RequestField {
    const char* name;
    FieldType type;
    std::uint32_t operations;                        // bit n: the sotto_op of value n reads it
    double min = 0, max = 0;                         // of a number or an integer
    double fallback = 0;                             // what an absent number or boolean means
    std::size_t items = 0;                           // of a list
    std::size_t min_bytes = 0, max_bytes = SIZE_MAX; // of a text, or of each element of a list
    const char* const* choices = nullptr;            // up to a nullptr

    constexpr operator const char*() const noexcept { return name; }
};

} // namespace sotto
