// States in files: written to the file system, read through the host's functions where it lends some.
#pragma once

#include <cstdint>
#include <string>

#include "core/settings.hpp"
#include "module/backend.hpp"

namespace sotto {

// What became of it, as JSON.
std::string save_state(Model& model, void* stream, const std::string& path);
std::string restore_state(Model& model, const std::string& path, const Hooks& hooks);

} // namespace sotto
