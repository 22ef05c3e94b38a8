/**
 * @file sotto/text.hpp
 * Part of sotto.hpp: text, errors and JSON.
 */
#ifndef SOTTO_TEXT_HPP
#define SOTTO_TEXT_HPP

#include <stdexcept>
#include <string>
#include <string_view>

#include "sotto.h"

namespace sotto {

/** Returns the bytes of a sotto_str, as long as its owner keeps them. */
inline std::string_view view(sotto_str text) noexcept {
    return text.size == 0 ? std::string_view() : std::string_view(text.data, text.size);
}

/** Returns a sotto_str of text that outlives the call that it is passed to. */
inline sotto_str str(std::string_view text) noexcept { return {text.data(), text.size()}; }

/** A call or a request failed. `what()` is the library's message. */
class Error : public std::runtime_error {
public:
    Error(sotto_status status, std::string_view message)
        : std::runtime_error(std::string(message)), status_(status) {}

    /** One of the SOTTO_ERROR_ values. */
    sotto_status status() const noexcept { return status_; }

private:
    sotto_status status_;
};

/** Throws Error with sotto_last_error() if `status` is negative; else returns `status`. */
inline sotto_status check(sotto_status status) {
    if (status < 0) {
        throw Error(status, view(sotto_last_error()));
    }
    return status;
}

/** Returns text as a JSON string, quotes included. */
inline std::string quote(std::string_view text) {
    constexpr std::size_t kLongestEscape = 6;
    std::string           json(kLongestEscape * text.size() + 3, '\0');
    std::size_t           size = 0;
    check(sotto_json_quote(str(text), json.data(), json.size(), &size));
    json.resize(size);
    return json;
}

/** Reads a field of a JSON object that may be incomplete; see sotto_json_field(). */
inline std::string field(std::string_view json, std::string_view name, bool* complete = nullptr) {
    sotto_str    value{};
    std::int32_t closed = 0;
    check(sotto_json_field(str(json), str(name), &value, &closed));
    if (complete != nullptr) {
        *complete = closed != 0;
    }
    return std::string(view(value));
}

} // namespace sotto

#endif
