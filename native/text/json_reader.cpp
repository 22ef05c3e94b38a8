#include "text/json_reader.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "text/utf8_stream.hpp"
#include "json/utf8_cut.hpp"
#include "json/value_builder.hpp"

namespace sotto {
namespace {

std::string brief(double value) {
    return std::trunc(value) == value ? std::to_string(static_cast<std::int64_t>(value))
                                      : to_text(Json(value));
}

// Returns an integer value. Accepts 7.0 as well, which is how Lua, JavaScript and Godot may write 7.
std::optional<std::int64_t> whole(const Json& value) {
    constexpr double kExact = 9007199254740992; // 2^53
    if (value.is_number_float()) {
        const auto number = value.get<double>();
        const bool exact = std::trunc(number) == number && std::abs(number) <= kExact;
        return exact ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
    }
    const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
    return value.is_number_integer() && !huge ? std::optional(value.get<std::int64_t>()) : std::nullopt;
}

std::string range(const std::string& least, const std::string& most) {
    return "from " + least + " to " + most;
}

// Describes, for an error message, the strings that a field accepts.
std::string string_of(const RequestField& field) {
    const auto most = std::to_string(field.max_bytes) + " bytes";
    if (field.max_bytes == SIZE_MAX) {
        return field.min_bytes == 0 ? "a string" : "a string that is not empty";
    }
    return field.min_bytes == 0 ? "a string of at most " + most
                                : "a string of " + std::to_string(field.min_bytes) + " to " + most;
}

// Returns true if a string is unambiguous without quotes: it does not start like a number, list or object,
// and is not a literal.
bool reads_as_string(const Json& value, std::string_view text) {
    if (!value.is_string()) {
        return false;
    }
    const auto inner = text.substr(1, text.size() - 2);
    const bool literal = inner == "true" || inner == "false" || inner == "null";
    return !literal && (inner.empty() || std::string_view("-0123456789[{").find(inner[0]) == inner.npos);
}

// Returns the reason of a JSON parse error without nlohmann's exception prefix and without ill-formed UTF-8.
std::string reason(std::string_view what) {
    constexpr std::size_t kLongest = 200;
    if (const auto end = what.find("] "); end != std::string_view::npos) {
        // the prefix: "[json.exception.parse_error.101] parse error at line ..."
        what.remove_prefix(end + 2);
    }
    std::string whole;
    Utf8Stream characters;
    characters.feed(what, whole);
    characters.finish(whole);
    return utf8_shortened(whole, kLongest);
}

} // namespace

Json parse_object(std::string_view text, std::string_view name, const std::atomic<bool>* cancelled) {
    constexpr std::size_t kDeepest = 128; // bounds the recursion of code that walks the value
    const auto check = [&](std::size_t depth) {
        if (depth > kDeepest) {
            throw Error(
                SOTTO_ERROR_ARGUMENT,
                "invalid " + std::string(name) + ": expected at most " + std::to_string(kDeepest) +
                    " levels of nesting; flatten it"
            );
        }
        if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
            throw Error(SOTTO_ERROR_CANCELLED, "the request was cancelled");
        }
    };
    Json value;
    try {
        value = read_json<Json>(text, check);
    } catch (const std::invalid_argument& error) { // also thrown for a number out of range
        throw Error(
            SOTTO_ERROR_ARGUMENT, "invalid " + std::string(name) + ": expected JSON; " + reason(error.what())
        );
    }
    if (!value.is_object()) {
        throw invalid_argument(name, excerpt(value), "a JSON object");
    }
    return value;
}

Json parse_json(std::string_view text) {
    return Json::parse(text);
}

Json try_parse_json(std::string_view text) {
    return Json::parse(text, nullptr, false);
}

bool is_json(std::string_view text) {
    return Json::accept(text);
}

std::string to_text(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string excerpt(const Json& value, std::size_t longest) {
    if (value.is_object()) {
        return value.empty() ? "{}" : "{...}";
    }
    if (value.is_array()) {
        return value.empty() ? "[]" : "[...]";
    }
    const std::string text = to_text(value);
    return utf8_shortened(reads_as_string(value, text) ? text.substr(1, text.size() - 2) : text, longest);
}

const Json* Fields::find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const Json& Fields::require(const char* key, const char* what) const {
    const Json* found = find(key);
    if (found == nullptr) {
        throw Error(SOTTO_ERROR_ARGUMENT, "missing " + path(key) + ": expected " + what);
    }
    return *found;
}

std::optional<double> Fields::number(const char* key, double least, double most) const {
    const Json* found = find(key);
    if (found == nullptr) {
        return std::nullopt;
    }
    const bool fits = found->is_number() && std::isfinite(found->get<double>()) &&
                      found->get<double>() >= least && found->get<double>() <= most;
    if (!fits) {
        refuse(key, *found, "a number " + range(brief(least), brief(most)));
    }
    return found->get<double>();
}

std::optional<std::int64_t> Fields::integer(const char* key, std::int64_t least, std::int64_t most) const {
    const Json* found = find(key);
    if (found == nullptr) {
        return std::nullopt;
    }
    const auto value = whole(*found);
    if (!value || *value < least || *value > most) {
        refuse(key, *found, "an integer " + range(std::to_string(least), std::to_string(most)));
    }
    return value;
}

std::optional<double> Fields::number(const RequestField& field) const {
    return number(field.name, field.min, field.max);
}

std::optional<std::int64_t> Fields::integer(const RequestField& field) const {
    return integer(field.name, static_cast<std::int64_t>(field.min), static_cast<std::int64_t>(field.max));
}

std::optional<bool> Fields::boolean(const char* key) const {
    const Json* found = find(key);
    if (found == nullptr) {
        return std::nullopt;
    }
    if (!found->is_boolean()) {
        refuse(key, *found, "true or false");
    }
    return found->get<bool>();
}

const std::string* Fields::text(const RequestField& field) const {
    const Json* found = find(field);
    if (found == nullptr) {
        return nullptr;
    }
    const auto* text = found->get_ptr<const std::string*>();
    if (text == nullptr || text->size() < field.min_bytes || text->size() > field.max_bytes) {
        refuse(field, *found, string_of(field));
    }
    return text;
}

const std::string* Fields::choice(const RequestField& field) const {
    const Json* found = find(field);
    if (found == nullptr) {
        return nullptr;
    }
    std::string what = "one of ";
    for (const auto* one = field.choices; *one != nullptr; ++one) {
        if (*found == *one) {
            return found->get_ptr<const std::string*>();
        }
        what += (one == field.choices ? "\"" : ", \"") + std::string(*one) + "\"";
    }
    refuse(field, *found, what);
}

void Fields::refuse(const char* key, const Json& value, const std::string& what) const {
    throw invalid_argument(path(key), excerpt(value), what);
}

} // namespace sotto
