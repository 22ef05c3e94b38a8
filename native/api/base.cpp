// Implements sotto/base.h and the log level of sotto/host.h.
#include "api/boundary.hpp"
#include "api/lent.hpp"
#include "base/log.hpp"
#include "text/utf8_stream.hpp"

namespace sotto::api {

sotto_status fail(sotto_status status, const char* message) noexcept {
    keep_message(message);
    return status;
}

std::string_view utf8(sotto_str text, const char* name) {
    const auto bytes = view(text, name);
    if (!is_utf8(bytes)) {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid " + std::string(name) + ": expected UTF-8");
    }
    if (bytes.find('\0') != std::string_view::npos) {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid " + std::string(name) + ": expected no NUL bytes");
    }
    return bytes;
}

sotto_str lend(std::string json) {
    auto& kept = lent().json;
    kept = std::move(json);
    return str(kept);
}

} // namespace sotto::api

using namespace sotto::api;

sotto_str sotto_version(void) {
    return str(SOTTO_VERSION);
}

sotto_str sotto_last_error(void) {
    return kept_message();
}

sotto_status sotto_log_set_level(sotto_log_level level) {
    return guarded([&] {
        if (level < SOTTO_LOG_DEFAULT || level > SOTTO_LOG_TRACE) {
            throw sotto::invalid_argument(
                "level", std::to_string(level), "a level from SOTTO_LOG_DEFAULT to SOTTO_LOG_TRACE"
            );
        }
        sotto::set_log_level(level);
        return SOTTO_OK;
    });
}
