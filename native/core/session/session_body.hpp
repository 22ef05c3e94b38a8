// Builds the request bodies for the typed functions of sotto/session.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sotto {

struct SessionOpening {
    std::string_view id;
    std::string_view model;    // empty: no model
    std::string_view system;   // empty: no system message
    std::string_view messages; // a JSON array; empty: no messages
    std::string_view from;     // session to fork; empty: none
    std::uint32_t keep = 0;    // number of first messages of `from` to copy; 0: all
    bool pinned = false;
    std::optional<std::span<const std::int32_t>> tokens; // of a token session
};

// An edit of a token session: action "cut", "copy" or "shift", on the positions from `from` to before `to`.
struct SessionEdit {
    std::string_view session = {};
    std::string_view action = {};
    std::int32_t from = 0;
    std::int32_t to = -1;             // -1: the end
    std::string_view to_session = {}; // of "copy"
    std::int32_t delta = 0;           // of "shift"
};

struct SessionTurn {
    std::string_view session;
    std::string_view text;        // empty: no new message
    std::string_view fields;      // a JSON object of further fields; may be empty
    std::uint32_t max_tokens = 0; // 0: no limit
};

// Each function returns a request's body as JSON. Throws Error(SOTTO_ERROR_ARGUMENT) if JSON from the host is
// malformed or has the wrong type; the contents of that JSON are checked later, when the request is read.
std::string open_session_body(const SessionOpening& opening);
std::string say_body(const SessionTurn& turn);
// For requests that change, read, close or list sessions. Empty `id`: all sessions.
std::string session_body(
    std::string_view id,
    std::optional<bool> pinned = std::nullopt,
    std::optional<std::string_view> system = std::nullopt
);

// `turns`: number of last turns to drop.
std::string rewind_body(std::string_view id, std::uint32_t turns);
std::string edit_body(const SessionEdit& edit);

// Returns `text` as a JSON string literal. Throws std::bad_alloc.
std::string quoted(std::string_view text);

} // namespace sotto
