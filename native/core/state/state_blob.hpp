// Format of a model's KV cache state outside the model: spilled, in a save game, or shipped.
//
//   bytes  field, numbers are little-endian
//   8      magic "SOTTO\0ST"
//   4      format version, 1
//   4      size of the fingerprint in bytes
//   8      size of the payload in bytes
//   8      XXH3-64 of all other bytes
//   ...    fingerprint: a JSON object that identifies the model and versions the state fits
//   ...    payload, in the backend's format
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "platform/pages.hpp"

namespace sotto {

constexpr std::size_t kStateHeader = 32;

// Returns the header and the fingerprint. Append the payload, then call seal_state() to
// fill in its size and the checksum.
PageBuffer begin_state(std::string_view fingerprint);
void seal_state(PageBuffer& blob);
// Builds a whole blob at once; for small payloads.
std::string state_blob(std::string_view fingerprint, std::string_view payload);

// Returns the size of a blob in bytes, from its first kStateHeader bytes. Throws Error(SOTTO_ERROR_MODEL) if
// these bytes are not a valid header.
std::uint64_t state_size(std::string_view header);

// Returns the payload of a whole blob. Throws Error(SOTTO_ERROR_MODEL) with the reason if the blob
// is truncated, damaged, or has another fingerprint than `wanted`.
std::string_view state_payload(std::string_view blob, std::string_view wanted);

} // namespace sotto
