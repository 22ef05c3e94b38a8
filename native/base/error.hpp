// Errors of C++ code below the C boundary.
#pragma once

#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "abi/error.hpp"

namespace sotto {

// Returns true if the system refused memory or a thread. std::thread reports either as std::system_error.
inline bool is_out_of_resources(const std::exception& error) noexcept {
    if (const auto* refused = dynamic_cast<const std::system_error*>(&error)) {
        return refused->code() == std::errc::resource_unavailable_try_again ||
               refused->code() == std::errc::not_enough_memory;
    }
    return dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
}

// status_of() and reason_of() return the status and the text for an exception that is not an Error.
inline sotto_status status_of(const std::exception& error) noexcept {
    return is_out_of_resources(error) ? SOTTO_ERROR_MEMORY : SOTTO_ERROR_INTERNAL;
}
inline const char* reason_of(const std::exception& error) noexcept {
    const bool thread = dynamic_cast<const std::system_error*>(&error) != nullptr;
    return !is_out_of_resources(error) ? error.what()
           : thread
               ? "the system has no memory or no thread left; end others, or raise the limits of the process"
               : "out of host memory";
}

// Sets `text` to `from`; clears it if memory for the copy is lacking.
inline void set_text(std::string& text, std::string_view from) noexcept {
    try {
        text = from;
    } catch (const std::bad_alloc&) {
        text.clear();
    }
}

// A caught failure that another thread will report.
struct Failure {
    sotto_status status = SOTTO_OK;
    std::string why;

    explicit operator bool() const noexcept { return status < 0; }
    void set(sotto_status status_seen, const char* why_seen) noexcept {
        status = status_seen;
        set_text(why, why_seen);
    }
};

} // namespace sotto
