// JSON helpers of this module, for requests, options and descriptions.
#include "runtime/json_parts.hpp"

namespace sotto::llama {

Json try_parse_json(std::string_view text) {
    return Json::parse(text, nullptr, false);
}

std::string text_of(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_utf8(const std::string& text) {
    try {
        return !Json(text).dump().empty();
    } catch (const Json::exception&) {
        return false;
    }
}

} // namespace sotto::llama
