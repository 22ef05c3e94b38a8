// Converts a request of the engine to the request of a server.
#pragma once

#include <cstdint>
#include <string_view>

#include <sotto/module.h>

#include "backends/proxy/exchange.hpp"
#include "backends/proxy/options.hpp"

namespace sotto::proxy {

// `body`: request JSON of the engine. `index`: of the choice, each of which is a request of its own.
Call call_for(const Options& options, sotto_op op, std::string_view body, std::uint32_t index);

} // namespace sotto::proxy
