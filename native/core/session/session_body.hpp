// Writes the request bodies behind the typed functions of sotto/session.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sotto {

struct SessionOpening {
    std::string_view id;
    std::string_view model;    // empty: none
    std::string_view system;   // empty: none
    std::string_view messages; // a JSON array; empty: none
    std::string_view from;     // empty: none
    std::uint32_t keep = 0;    // 0: all
    bool pinned = false;
};

struct SessionTurn {
    std::string_view session;
    std::string_view text;        // empty: no new message
    std::string_view fields;      // a JSON object; empty: none
    std::uint32_t max_tokens = 0; // 0: no limit
};

// All throw Error(SOTTO_ERROR_ARGUMENT) if the JSON that the host wrote is malformed, no array, or no object.
// What it holds is checked when the request is read.
std::string open_session_body(const SessionOpening& opening);
std::string say_body(const SessionTurn& turn);
// `id` empty: of no session in particular.
std::string session_body(
    std::string_view id,
    std::optional<bool> pinned = std::nullopt,
    std::optional<std::string_view> system = std::nullopt
);

// `text` as a JSON string. Throws std::bad_alloc.
std::string quoted(std::string_view text);

} // namespace sotto
