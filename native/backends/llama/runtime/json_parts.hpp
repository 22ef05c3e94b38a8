// JSON as this module reads and writes it: requests, options, descriptions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "request/field.hpp"

namespace sotto::llama {

using Json = nlohmann::ordered_json;

// The field `key` of an object; nullptr where it is not there, or null.
inline const Json* find(const Json& body, const char* key) {
    const auto found = body.find(key);
    return found == body.end() || found->is_null() ? nullptr : &*found;
}

// The value of the field `key`, or `otherwise` where there is none.
template <typename T>
T value_or(const Json& body, const char* key, T otherwise) {
    const auto* found = find(body, key);
    return found == nullptr ? std::move(otherwise) : found->get<T>();
}

// The boolean field `key`, or what its absence means.
inline bool flag(const Json& body, const RequestField& key) {
    return value_or(body, key, key.fallback != 0);
}

// Parses `text`; returns a discarded value if it is not JSON.
Json try_parse_json(std::string_view text);

// On one line, as valid UTF-8 whatever is in it.
std::string text_of(const Json& value);

// Whether `text` is valid UTF-8.
bool is_utf8(const std::string& text);

} // namespace sotto::llama
