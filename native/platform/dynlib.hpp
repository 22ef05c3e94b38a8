// Shared libraries opened at run time, and where this one is.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sotto {

// Opens a library for good, its symbols its own. A bare name is one of the system's. Null on failure; `why`
// says why.
void* open_library(const std::filesystem::path& path, std::string& why);

// An exported symbol, or null.
void* find_symbol(void* library, const char* name) noexcept;

// The folder that holds the library this code is in.
std::filesystem::path library_folder();

// The files of loadable libraries in a folder; of one that isn't there: none.
std::vector<std::filesystem::path> libraries_in(const std::filesystem::path& folder);

// What files of loadable libraries end on, with the dot.
const char* library_suffix() noexcept;

} // namespace sotto
