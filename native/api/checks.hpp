// Checks shared by all kinds of requests. Each throws an Error that names the parameter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/boundary.hpp"

namespace sotto::api {

constexpr sotto_request_flags kRequestFlags = SOTTO_REQUEST_PRIVATE | SOTTO_REQUEST_CHUNKS;

inline sotto_request_flags
checked_request_flags(sotto_request_flags flags, sotto_request_flags allowed, const char* name) {
    if ((flags & ~allowed) != 0) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            invalid(name, std::to_string(flags), "only bits of " + std::to_string(allowed))
        );
    }
    return flags;
}

// Checks the size of JSON, or of text that becomes part of JSON, before it is copied.
inline std::string_view checked_size(std::string_view text, const char* name) {
    constexpr std::size_t kMax = std::size_t{64} << 20;
    if (text.size() > kMax) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            std::string("invalid ") + name + " '" + std::to_string(text.size()) +
                " bytes': expected at most " + std::to_string(kMax) +
                " bytes; shorten the messages, or make their images smaller"
        );
    }
    return text;
}

inline sotto_priority checked_priority(sotto_priority priority) {
    if (priority < SOTTO_PRIORITY_BACKGROUND || priority > SOTTO_PRIORITY_FOREGROUND) {
        throw invalid_argument(
            "desc->priority", std::to_string(priority), "one of the SOTTO_PRIORITY_ values"
        );
    }
    return priority;
}

inline std::int64_t checked_deadline(std::uint64_t deadline_ns) {
    if (deadline_ns > INT64_MAX) {
        throw invalid_argument(
            "desc->deadline_ns", std::to_string(deadline_ns), "a time of the monotonic clock, or 0 for none"
        );
    }
    return static_cast<std::int64_t>(deadline_ns);
}

inline std::string_view required(sotto_str text, const char* name) {
    const auto value = utf8(text, name);
    if (value.empty()) {
        throw Error(
            SOTTO_ERROR_ARGUMENT, "missing " + std::string(name) + ": expected a string that is not empty"
        );
    }
    return value;
}

} // namespace sotto::api
