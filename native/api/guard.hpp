// Guards of the C API, for engines.
#pragma once

#include <memory>

#include <sotto/guard.h>

#include "guard/guard.hpp"

namespace sotto::api {

// Returns the guard of a handle. Throws Error(SOTTO_ERROR_ARGUMENT) if the handle is invalid.
std::shared_ptr<const guard::Guard> guard_of(sotto_guard* guard);

} // namespace sotto::api
