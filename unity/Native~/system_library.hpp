// How the operating system loads libraries. One .cpp for each system.
#pragma once

#include "text.hpp"

namespace sotto::unity {

// Opens the Sotto library for good: see SottoLibrary::find(). Returns NULL, with `reason`, on failure.
void* open_sotto(Text& reason);

// Returns an exported function, or NULL.
void* find_function(void* library, const char* name);

// Keeps the plugin's code loaded until the process ends: Unity may hold pointers into it after unloading it.
void keep_plugin_loaded();

} // namespace sotto::unity
