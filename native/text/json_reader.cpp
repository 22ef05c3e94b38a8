#include "text/json_reader.hpp"

#include <cmath>

#include "base/error.hpp"

namespace sotto {
namespace {

std::string brief(double value) {
    return Json(value).dump();
}

std::string range(const std::string& least, const std::string& most) {
    return "from " + least + " to " + most;
}

} // namespace

Json parse_object(std::string_view text, std::string_view name) {
    Json value;
    try {
        value = Json::parse(text);
    } catch (const Json::parse_error& error) {
        std::string why = error.what(); // "[json.exception.parse_error.101] parse error at line ..."
        if (const auto end = why.find("] "); end != std::string::npos) {
            why.erase(0, end + 2);
        }
        throw Error(SOTTO_ERROR_ARGUMENT, std::string(name) + " is not JSON: " + why);
    }
    if (!value.is_object()) {
        throw Error(
            SOTTO_ERROR_ARGUMENT, std::string(name) + " is " + excerpt(value) + "; it must be a JSON object"
        );
    }
    return value;
}

std::string to_text(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string excerpt(const Json& value) {
    constexpr std::size_t kLongest = 40;
    if (value.is_object() || value.is_array()) {
        return std::string(value.empty() ? "an empty " : "a JSON ") + value.type_name();
    }
    auto text = to_text(value);
    if (text.size() > kLongest) {
        std::size_t end = kLongest;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
            --end; // not in the middle of a character
        }
        text.erase(end);
        text += "...";
    }
    return text;
}

const Json* Fields::find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const Json& Fields::require(const char* key, const char* what) const {
    const Json* found = find(key);
    if (found == nullptr) {
        throw Error(SOTTO_ERROR_ARGUMENT, path(key) + " is missing; it must be " + what);
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
    const bool huge = found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX;
    if (!found->is_number_integer() || huge || found->get<std::int64_t>() < least ||
        found->get<std::int64_t>() > most) {
        refuse(key, *found, "an integer " + range(std::to_string(least), std::to_string(most)));
    }
    return found->get<std::int64_t>();
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

void Fields::refuse(const char* key, const Json& value, const std::string& what) const {
    throw Error(SOTTO_ERROR_ARGUMENT, path(key) + " is " + excerpt(value) + "; it must be " + what);
}

} // namespace sotto
