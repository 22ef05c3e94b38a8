// JSON helpers of this module, for requests, options and descriptions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "request/field.hpp"

namespace sotto::llama {

using Json = nlohmann::ordered_json;

// Returns the field `key` of an object; nullptr if it is absent or null.
inline const Json* find(const Json& body, const char* key) {
    const auto found = body.find(key);
    return found == body.end() || found->is_null() ? nullptr : &*found;
}

// Returns the value of the field `key`, or `otherwise` if it is absent.
template <typename T>
T value_or(const Json& body, const char* key, T otherwise) {
    const auto* found = find(body, key);
    return found == nullptr ? std::move(otherwise) : found->get<T>();
}

// Returns the boolean field `key`, or its default if it is absent.
inline bool flag(const Json& body, const RequestField& key) {
    return value_or(body, key, key.fallback != 0);
}

// Parses `text`; returns a discarded value if it is not JSON.
Json try_parse_json(std::string_view text);

// Serializes on one line; replaces ill-formed UTF-8.
std::string text_of(const Json& value);

// Returns true if `text` is valid UTF-8.
bool is_utf8(const std::string& text);

} // namespace sotto::llama
