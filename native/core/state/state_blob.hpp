// The one form that a model's state is kept in outside the model: parked, in a save game, shipped.
//
//   bytes  what                     numbers are little-endian
//   8      "SOTTO\0ST"
//   4      the form's version, 1
//   4      bytes of the fingerprint
//   8      bytes of the payload
//   8      XXH3-64 of all the rest
//   ...    the fingerprint: a JSON object that says what the state fits
//   ...    the payload, which is the backend's
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "platform/pages.hpp"

namespace sotto {

constexpr std::size_t kStateHeader = 32;

// What stands before a payload. Once that is appended, seal_state() makes a blob of both.
PageBuffer begin_state(std::string_view fingerprint);
void seal_state(PageBuffer& blob);
// The same at once, for what is small.
std::string state_blob(std::string_view fingerprint, std::string_view payload);

// How long a blob is, by its first kStateHeader bytes. Throws Error(SOTTO_ERROR_MODEL) where they are none.
std::uint64_t state_size(std::string_view header);

// The payload of a whole blob. Throws Error(SOTTO_ERROR_MODEL) that says what is wrong with it: cut, changed,
// or of something else than what has the fingerprint `wanted`.
std::string_view state_payload(std::string_view blob, std::string_view wanted);

} // namespace sotto
