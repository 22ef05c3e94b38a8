// Shared libraries opened at run time, and where this one is.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace sotto {

// Opens a library for good, its symbols its own. A bare name is one of the system's. Null on failure; `why`
// says why, and `failed` as the system does, where it does.
void* open_library(const std::filesystem::path& path, std::string& why, std::error_code& failed);
void* open_library(const std::filesystem::path& path, std::string& why);

// An exported symbol, or null.
void* find_symbol(void* library, const char* name) noexcept;

// The folder that held the library this code is in when that was loaded, absolute. Empty: not known.
const std::filesystem::path& library_folder();

// Keeps the library this code is in loaded until the process ends. False: the system will not.
bool keep_loaded() noexcept;

// The files of loadable libraries in a folder. `failed`: why that cannot be read; one that isn't there holds
// none, which is no failure.
std::vector<std::filesystem::path> libraries_in(const std::filesystem::path& folder, std::error_code& failed);

// What files of loadable libraries end on, with the dot.
const char* library_suffix() noexcept;

} // namespace sotto
