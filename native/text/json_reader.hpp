// Reads JSON that a host wrote, and names what is wrong with it by its path.
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

// Parses one JSON object. Throws Error(SOTTO_ERROR_ARGUMENT) that names `name`, and
// Error(SOTTO_ERROR_CANCELLED) soon after `cancelled`, which may be null, is set.
Json parse_object(std::string_view text, std::string_view name, const std::atomic<bool>* cancelled = nullptr);

// Parses text that the library or a module wrote. Throws Json::exception if it is not JSON.
Json parse_json(std::string_view text);

// The same; returns a discarded value if it is not JSON.
Json try_parse_json(std::string_view text);

bool is_json(std::string_view text);

// `value` as JSON text. Ill-formed UTF-8 in it is replaced, never an error.
std::string to_text(const Json& value);

// A value as one short line for error messages: JSON, but strings without quotes where they can't be taken
// for another type, and "{...}" or "[...]" for what is inside an object or an array.
std::string excerpt(const Json& value, std::size_t longest = 40);

// The fields of an object. A field that is null counts as absent. Everything throws
// Error(SOTTO_ERROR_ARGUMENT) that names the field, its value, and what it must be.
class Fields {
public:
    Fields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {}

    const Json* find(const char* key) const;
    const Json& require(const char* key, const char* what) const;
    std::string path(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

    // Absent: nothing.
    std::optional<double> number(const char* key, double least, double most) const;
    std::optional<std::int64_t> integer(const char* key, std::int64_t least, std::int64_t most) const;
    std::optional<double> number(const RequestField& field) const;
    std::optional<std::int64_t> integer(const RequestField& field) const;
    std::optional<bool> boolean(const char* key) const;
    // Absent: nullptr.
    const std::string* text(const RequestField& field) const;
    const std::string* choice(const RequestField& field) const;

    // Throws "invalid KEY 'VALUE': expected WHAT".
    [[noreturn]] void refuse(const char* key, const Json& value, const std::string& what) const;

private:
    const Json& object_;
    std::string path_;
};

} // namespace sotto
