// Reads JSON from the host. Errors name the offending value by its path.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "request/field.hpp"

namespace sotto {

using Json = nlohmann::json;

// Parses one JSON object. Throws Error(SOTTO_ERROR_ARGUMENT) that names `name`, or
// Error(SOTTO_ERROR_CANCELLED) soon after `cancelled` is set; `cancelled` may be null.
Json parse_object(std::string_view text, std::string_view name, const std::atomic<bool>* cancelled = nullptr);

// Parses JSON that the library or a module wrote. Throws Json::exception if it is malformed.
Json parse_json(std::string_view text);

// Like parse_json(), but returns a discarded value if the text is malformed.
Json try_parse_json(std::string_view text);

bool is_json(std::string_view text);

// Serializes `value`. Replaces ill-formed UTF-8 instead of failing.
std::string to_text(const Json& value);

// Formats a value as one short line for error messages: JSON, with strings unquoted if they cannot be
// mistaken for another type, and nested objects and arrays as "{...}" and "[...]".
std::string excerpt(const Json& value, std::size_t longest = 40);

// Typed access to the fields of an object. A null field counts as absent. Every function throws
// Error(SOTTO_ERROR_ARGUMENT) that names the field, its value and the expected range.
class Fields {
public:
    Fields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {}

    const Json* find(const char* key) const;
    const Json& require(const char* key, const char* what) const;
    std::string path(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

    // number(), integer() and boolean() return nothing if the field is absent.
    std::optional<double> number(const char* key, double least, double most) const;
    std::optional<std::int64_t> integer(const char* key, std::int64_t least, std::int64_t most) const;
    std::optional<double> number(const RequestField& field) const;
    std::optional<std::int64_t> integer(const RequestField& field) const;
    std::optional<bool> boolean(const char* key) const;
    // text() and choice() return nullptr if the field is absent.
    const std::string* text(const RequestField& field) const;
    const std::string* choice(const RequestField& field) const;

    // Throws "invalid KEY 'VALUE': expected WHAT".
    [[noreturn]] void refuse(const char* key, const Json& value, const std::string& what) const;

private:
    const Json& object_;
    std::string path_;
};

} // namespace sotto
