// Converts what a server refuses into an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "abi/error.hpp"
#include "backends/proxy/options.hpp"

namespace sotto::proxy {

// Returns the error for a response of another status than 200. `body`: the response, or its beginning.
// `location`: where a redirect leads; empty: nowhere.
Error refusal(int status, const std::string& what, std::string_view body, const std::string& location);

// Returns true if a server that answered `status` may answer the same request later.
bool may_pass(int status) noexcept;

// Returns milliseconds until attempt number `attempt`, from 1, is due. `retry_after`: the response's header,
// in seconds; another form is ignored. Negative: the server asks for a longer wait than a request may take.
std::int64_t wait_before(std::uint32_t attempt, const std::string& retry_after) noexcept;

} // namespace sotto::proxy
