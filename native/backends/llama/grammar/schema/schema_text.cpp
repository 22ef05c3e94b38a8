// Formats error texts about JSON schemas, and resolves references.
#include "grammar/schema/schema_parts.hpp"

#include "json/utf8_cut.hpp"

namespace sotto::llama {
namespace {

int hex(char digit) {
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

// Splits a JSON pointer in a URI fragment into keys.
std::vector<std::string> keys_of(const std::string& ref) {
    std::vector<std::string> keys;
    for (std::size_t i = 1; i < ref.size(); ++i) {
        if (ref[i] == '/') {
            keys.emplace_back();
        } else if (keys.empty()) {
            return {};
        } else if (ref[i] == '%' && i + 2 < ref.size() && hex(ref[i + 1]) >= 0 && hex(ref[i + 2]) >= 0) {
            keys.back() += static_cast<char>(hex(ref[i + 1]) * 16 + hex(ref[i + 2]));
            i += 2;
        } else {
            keys.back() += ref[i];
        }
    }
    for (auto& key : keys) { // unescape "~1" to "/" first, then "~0" to "~"
        for (const auto& [escape, meaning] : {std::pair{"~1", "/"}, std::pair{"~0", "~"}}) {
            for (auto at = key.find(escape); at != std::string::npos; at = key.find(escape, at + 1)) {
                key.replace(at, 2, meaning);
            }
        }
    }
    return keys;
}

bool is_index(const std::string& key) {
    return !key.empty() && key.size() < 8 && key.find_first_not_of("0123456789") == std::string::npos;
}

// Returns true if a string is unambiguous without quotes: it does not look like a number, a list or a
// literal.
bool reads_as_string(const Schema& value, const std::string& text) {
    if (!value.is_string() || text == "\"true\"" || text == "\"false\"" || text == "\"null\"") {
        return false;
    }
    return std::string("-0123456789[{").find(text[1]) == std::string::npos;
}

} // namespace

void refuse_schema(const std::string& path, const Schema& value, const std::string& expected) {
    throw invalid_argument(path, shown(value), expected);
}

void refuse_schema(const std::string& path, const std::string& reason) {
    throw Error(SOTTO_ERROR_ARGUMENT, "invalid " + path + ": " + reason);
}

void unsupported_schema(const std::string& path, const Schema& value, const std::string& expected) {
    throw Error(SOTTO_ERROR_UNSUPPORTED, invalid(path, shown(value), expected));
}

void unsupported_schema(const std::string& path, const std::string& reason) {
    throw Error(SOTTO_ERROR_UNSUPPORTED, path + ": " + reason);
}

std::string shown(const Schema& value) {
    constexpr std::size_t kLongest = 60;
    if (value.is_object()) {
        return value.empty() ? "{}" : "{...}";
    }
    if (value.is_array()) {
        return value.empty() ? "[]" : "[...]";
    }
    auto text = text_of(value);
    if (reads_as_string(value, text)) {
        text = text.substr(1, text.size() - 2);
    }
    return utf8_shortened(text, kLongest);
}

std::string below(const std::string& path, const std::string& key) {
    return path + "." + key;
}

std::string below(const std::string& path, std::size_t index) {
    return path + "[" + std::to_string(index) + "]";
}

const Schema* find_ref(const Schema& root, const std::string& ref) {
    const auto* found = &root;
    for (const auto& key : keys_of(ref)) {
        if (found->is_object() && found->contains(key)) {
            found = &(*found)[key];
        } else if (found->is_array() && is_index(key) && std::stoul(key) < found->size()) {
            found = &(*found)[std::stoul(key)];
        } else {
            return nullptr;
        }
    }
    return found;
}

std::string place_of_ref(const std::string& path, const std::string& ref) {
    auto place = path;
    for (const auto& key : keys_of(ref)) {
        place = is_index(key) ? below(place, std::stoul(key)) : below(place, key);
    }
    return place;
}

} // namespace sotto::llama
