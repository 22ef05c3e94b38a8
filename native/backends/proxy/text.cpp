#include "backends/proxy/text.hpp"

#include <algorithm>
#include <cstdint>

#include "json/utf8_cut.hpp"

namespace sotto::proxy {
namespace {

// Returns true if arrays and objects are nested deeper than `max`. Counts outside of strings only.
bool is_deeper(std::string_view text, int max) noexcept {
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            i += c == '\\' ? 1 : 0;
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > max) {
                return true;
            }
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return false;
}

} // namespace

std::string one_line(std::string_view text, std::size_t max) {
    // Through JSON, which replaces ill-formed UTF-8.
    const auto quoted = text_of(Json(std::string(text.substr(0, max * 2))));
    auto line = Json::parse(quoted).get<std::string>();
    std::replace_if(
        line.begin(),
        line.end(),
        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
        ' '
    );
    line.resize(utf8_cut(line, max).size());
    while (!line.empty() && line.back() == ' ') {
        line.pop_back();
    }
    return line;
}

Json try_parse(std::string_view text) {
    constexpr int kMaxDepth = 64;
    if (is_deeper(text, kMaxDepth)) {
        return Json(Json::value_t::discarded);
    }
    return Json::parse(text.begin(), text.end(), nullptr, false);
}

std::string text_of(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json* find(const Json& value, const char* key) {
    if (!value.is_object()) {
        return nullptr;
    }
    const auto found = value.find(key);
    return found == value.end() || found->is_null() ? nullptr : &*found;
}

std::string string_at(const Json& value, const char* key) {
    const auto* found = find(value, key);
    return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint32_t count_at(const Json& value, const char* key) {
    const auto* found = find(value, key);
    if (found == nullptr || !found->is_number_integer() || found->get<std::int64_t>() < 0 ||
        found->get<std::int64_t>() > UINT32_MAX) {
        return 0;
    }
    return found->get<std::uint32_t>();
}

} // namespace sotto::proxy
