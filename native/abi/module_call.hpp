// The C boundary of a module: converts exceptions into a status and a reason of one line.
#pragma once

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "abi/call.hpp"

namespace sotto::abi {

// Returns an error's text on one line, without control characters.
inline std::string reason_of(const char* text) {
    constexpr std::size_t kMax = 1'000;
    std::string line(text);
    line.resize(std::min(line.size(), kMax));
    std::replace_if(line.begin(), line.end(), [](char c) { return c >= 0 && c < 0x20; }, ' ');
    return line;
}

// Runs `body` and returns its status. If `body` throws, keeps the reason in `why`, and lets `reason` refer to
// it.
template <typename Body>
sotto_status guarded_call(std::string& why, sotto_str* reason, Body&& body) noexcept {
    const auto cause = [](const std::exception& error) {
        const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
        return Cause{
            memory ? SOTTO_ERROR_MEMORY : SOTTO_ERROR_INTERNAL, memory ? "out of memory" : error.what()
        };
    };
    const auto fail = [&](sotto_status status, const char* text) noexcept {
        try {
            why = reason_of(text);
        } catch (...) {
            why.clear();
        }
        if (reason != nullptr) {
            *reason = str(why);
        }
        return status;
    };
    return guarded(std::forward<Body>(body), cause, fail);
}

// As guarded_call(), where no model holds the reason: it is valid until the next such call on the same
// thread. Its buffer needs no destructor, so that the host may read it while the thread ends.
template <typename Body>
sotto_status guarded_alone(sotto_str* reason, Body&& body) noexcept {
    static thread_local char buffer[1'000];
    std::string why;
    const auto status = guarded_call(why, nullptr, std::forward<Body>(body));
    if (status < 0 && reason != nullptr) {
        *reason = {buffer, why.copy(buffer, sizeof buffer)};
    }
    return status;
}

} // namespace sotto::abi
