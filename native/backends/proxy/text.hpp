// Short texts of this module: errors of one line, and JSON.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <sotto/base.h>

#include "abi/error.hpp"

namespace sotto::proxy {

using Json = nlohmann::ordered_json;

// Returns `text` as one line of at most `max` bytes, without control characters or ill-formed UTF-8.
std::string one_line(std::string_view text, std::size_t max = 300);

// Parses JSON of limited depth; returns a discarded value if `text` is not such JSON.
Json try_parse(std::string_view text);

// Serializes on one line; replaces ill-formed UTF-8.
std::string text_of(const Json& value);

// Returns the member `key` of an object; nullptr if `value` is no object, or the member is absent or null.
const Json* find(const Json& value, const char* key);

// Returns the string member `key`; empty if it is absent or no string.
std::string string_at(const Json& value, const char* key);

// Returns the member `key`, a number from 0 to UINT32_MAX; 0 if it is absent or no such number.
std::uint32_t count_at(const Json& value, const char* key);

} // namespace sotto::proxy
