// Exception that carries a status of the C ABI; used by the core and by modules.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <sotto/base.h>

namespace sotto {

// A failure with the status that the C function returns to its caller.
class Error : public std::runtime_error {
public:
    Error(sotto_status status, const std::string& what) : std::runtime_error(what), status_(status) {}
    sotto_status status() const noexcept { return status_; }

private:
    sotto_status status_;
};

// Formats every error about an argument: "invalid NAME 'VALUE': expected EXPECTED".
inline std::string invalid(std::string_view name, std::string_view value, std::string_view expected) {
    std::string text("invalid ");
    text.append(name).append(" '").append(value).append("': expected ").append(expected);
    return text;
}
inline Error invalid_argument(std::string_view name, std::string_view value, std::string_view expected) {
    return Error(SOTTO_ERROR_ARGUMENT, invalid(name, value, expected));
}

} // namespace sotto
